/* SPDX-License-Identifier: ISC */
/* role.h - the same program again, in another role: in a child, or in our place.
 *
 * argv[1] says which role it is, and stands before the user's own arguments; descriptor
 * ROLE_FD is passed by the process that gave the role.  In our place it is a file that we
 * wrote for the new program.
 */
#ifndef OS_SELF_ROLE_H
#define OS_SELF_ROLE_H

#include <stdbool.h>
#include <stddef.h>

#define ROLE_FD 3

int role_reserve(void);
int role_binary(char *ret_path, size_t size);
char **role_arguments(char **argv);
int role_start(int binary_fd, char **arguments, const char *role, int fd);
int role_exec(int binary_fd, char **arguments, const char *role);

int role_begin(void);
int role_write(const void *data, size_t bytes);
bool role_read(void *ret, size_t bytes, size_t at);

#endif
