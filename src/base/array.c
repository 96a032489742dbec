/* SPDX-License-Identifier: ISC */
/* array.c - arrays that grow */
#include "config.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 16

/* `at` is where the pointer to the first element is kept. */
bool
array_reserve(void *at, size_t n, size_t *cap, size_t size)
{
	const size_t larger_cap = *cap == 0 ? FIRST_CAP : 2 * *cap;
	void *first;

	if (n < *cap)
		return true;
	memcpy(&first, at, sizeof(first));
	first = reallocarray(first, larger_cap, size);
	if (first == NULL)
		return false;
	memcpy(at, &first, sizeof(first));
	*cap = larger_cap;
	return true;
}
