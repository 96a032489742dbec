/* SPDX-License-Identifier: ISC */
/* array.h - arrays that grow: ARRAY_RESERVE makes room for one more element.
 *
 * The owner keeps a pointer, a count and, as size_t, how many elements there is room for;
 * all begin as 0 and NULL, and free(3) ends them.  Where there is no room it doubles.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for n elements in all, of which the owner fills in what is new.  False: out of
 * memory; all elements are where they were. */
#define ARRAY_RESIZE(at, n)       array_resize(&(at), (n), sizeof(*(at)))
#define ARRAY_RESERVE(at, n, cap) array_reserve(&(at), (n), &(cap), sizeof(*(at)))

/* Room for n elements at least; the new ones, behind `cap`, are as `fresh`.  False: the
 * same. */
#define ARRAY_EXTEND(at, n, cap, fresh) \
	array_extend(&(at), (n), &(cap), sizeof(*(at)), (fresh))

bool array_resize(void *at, size_t n, size_t size);
bool array_extend(void *at, uint32_t n, uint32_t *cap, size_t size, const void *fresh);
bool array_reserve(void *at, size_t n, size_t *cap, size_t size);

#endif
