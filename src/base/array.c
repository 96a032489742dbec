/* SPDX-License-Identifier: ISC */
/* array.c - arrays that grow */
#include "config.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 16

/* `at` is where the pointer to the first element is kept. */
bool
array_resize(void *at, size_t n, size_t size)
{
	void *first;

	memcpy(&first, at, sizeof(first));
	first = reallocarray(first, n, size);
	if (first == NULL)
		return false;
	memcpy(at, &first, sizeof(first));
	return true;
}

bool
array_extend(void *at, uint32_t n, uint32_t *cap, size_t size, const void *fresh)
{
	char *first;

	if (n <= *cap)
		return true;
	if (!array_resize(at, n, size))
		return false;
	memcpy(&first, at, sizeof(first));
	for (; *cap < n; (*cap)++)
		memcpy(first + *cap * size, fresh, size);
	return true;
}

bool
array_reserve(void *at, size_t n, size_t *cap, size_t size)
{
	const size_t larger_cap = *cap == 0 ? FIRST_CAP : 2 * *cap;

	if (n < *cap)
		return true;
	if (!array_resize(at, larger_cap, size))
		return false;
	*cap = larger_cap;
	return true;
}
