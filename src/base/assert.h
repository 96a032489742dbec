/* SPDX-License-Identifier: ISC */
/* assert.h - ASSERT: a condition of our own that cannot be false.
 *
 * On in release builds, one condition each, never on input.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

/* Declared by hand, as <assert.h> would do: NDEBUG must not be able to turn it off. */
extern void __assert_fail(const char *expr, const char *file, unsigned int line,
                          const char *function) __attribute__((noreturn));

#define ASSERT(x)                                                        \
	do {                                                             \
		if (!(x))                                                \
			__assert_fail(#x, __FILE__, __LINE__, __func__); \
	} while (0)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
