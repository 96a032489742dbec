/* SPDX-License-Identifier: ISC */
/* window.h - how often: may this be restarted once more?
 *
 * A window owns no memory; its stamps belong to the core's pool.  Times are
 * CLOCK_MONOTONIC milliseconds, passed in.  Nothing here fails.
 */
#ifndef CORE_WINDOW_H
#define CORE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct window {
	uint32_t cap;   /* stamps in the pool: the number of restarts that are granted */
	uint32_t count; /* of stamps in the ring, or of restarts in a fixed window */
	union {
		struct {
			uint32_t at;   /* of the stamps in the pool */
			uint32_t head; /* where the next stamp goes */
		};
		uint64_t opened_ms; /* of a fixed window, which has no stamps */
	};
};

bool window_admits(const struct window *window, const uint64_t *stamps,
                   uint64_t period_ms, uint64_t now_ms);
void window_count(struct window *window, uint64_t *stamps, uint64_t now_ms);
uint32_t window_in_use(const struct window *window, const uint64_t *stamps,
                       uint64_t period_ms, uint64_t now_ms);
bool window_fixed_admit(struct window *window, uint32_t restarts, uint64_t period_ms,
                        uint64_t now_ms);
void window_clear(struct window *window);

#endif
