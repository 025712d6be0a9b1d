/* The system calls of processes that stand apart: groups, and which of them each process has, are
 * one table (calls.def). What is not in a process's groups fails with EPERM; the kernel tells it in
 * its log, where it keeps one (audit, type 1326): nobody who has taken the process over can stop
 * that. The process goes on: what refuses a feature of a library must not stop a cluster. */
#ifndef PHX_APART_CALLS_H
#define PHX_APART_CALLS_H

#include <stdint.h>

#include "base/util.h"

enum {
#define GROUP(name) PHX_CALLS_BIT_##name,
#define CALL(group, call)
#define WHEN(group, call, arg, mask, value)
#define WHEN2(group, call, arg, mask, value, arg2, mask2, value2)
#define PROCESS(name, groups)
#include "apart/calls.def"
#undef GROUP
#undef PROCESS
};

/** PHX_CALLS_base, ...: groups; PHX_CALLS_head, ...: those of a process. */
enum {
#define GROUP(name) PHX_CALLS_##name = 1 << PHX_CALLS_BIT_##name,
#define PROCESS(name, groups) PHX_CALLS_##name = (groups),
#include "apart/calls.def"
#undef GROUP
#undef CALL
#undef WHEN
#undef WHEN2
#undef PROCESS
};

/** From now on, and for ever, this thread (of a process that has no other) makes the calls of these
 * groups alone; so do threads and programs that it starts. It gains no privileges any more. `what`
 * is how errors call the process. */
int phx_calls_keep(uint32_t groups, const char *what, struct phx_err *err);

#endif
