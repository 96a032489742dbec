/* SPDX-License-Identifier: ISC */
/* bounds.h - the smaller and the larger of two, each of which may be evaluated twice. */
#ifndef BASE_BOUNDS_H
#define BASE_BOUNDS_H

#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define LARGER(a, b)  ((a) > (b) ? (a) : (b))

#endif
