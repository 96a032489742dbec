/* SPDX-License-Identifier: ISC */
/* oom.h - how gladly the kernel ends this process when memory runs out, see
 * proc_pid_oom_score_adj(5). */
#ifndef OS_SELF_OOM_H
#define OS_SELF_OOM_H

/* Values of supd's own processes: without the walker all is lost, without the guardian
 * supervision is lost for a moment.  Log readers and helpers have the value of actors. */
#define OOM_OF_WALKER   (-1000)
#define OOM_OF_GUARDIAN (-900)

#define OOM_NUMBER_MAX 12 /* a number in decimal, see oom_print() */

int oom_open(void);
int oom_read(int fd);
int oom_write(int fd, int value);
void oom_set(int fd, int value);
void oom_print(char at[OOM_NUMBER_MAX], int number);

#endif
