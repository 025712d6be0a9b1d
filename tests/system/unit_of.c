/* Says of a process of phxd what a unit of systemd would say that may do what its row of the system
 * calls lets it (apart/calls.def), and no more: unit_of PROCESS prints these lines. What they are
 * worth systemd-analyze tells. */
#include <linux/netlink.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "apart/calls.h"

static const struct {
	const char *name;
	uint32_t groups;
} processes[] = {
#define GROUP(name)
#define CALL(group, call)
#define WHEN(group, call, arg, mask, value)
#define WHEN2(group, call, arg, mask, value, arg2, mask2, value2)
#define PROCESS(name, groups) {#name, groups},
#include "apart/calls.def"
#undef CALL
#undef WHEN
#undef WHEN2
#undef PROCESS
};

/* `value`: of the argument that bounds it; "": the call as a whole. */
static const struct {
	uint32_t group;
	const char *call, *value;
} rows[] = {
#define CALL(group, call) {PHX_CALLS_##group, #call, ""},
#define WHEN(group, call, arg, mask, value) {PHX_CALLS_##group, #call, #value},
#define WHEN2(group, call, arg, mask, value, arg2, mask2, value2) \
	{PHX_CALLS_##group, #call, #value},
#define PROCESS(name, groups)
#include "apart/calls.def"
};

static bool has(uint32_t groups, const char *call)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].group & groups && !strcmp(rows[i].call, call) && !rows[i].value[0])
			return true;
	return false;
}

static void print(uint32_t groups)
{
	printf("SystemCallFilter=");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].group & groups)
			printf("%s ", rows[i].call);
	unsigned n = 0;
	printf("\nRestrictAddressFamilies=");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].group & groups && !strcmp(rows[i].call, "socket"))
			n += printf("%s ", rows[i].value) > 0;
	printf("%s\nMemoryDenyWriteExecute=%s\nProtectClock=%s\n", n ? "" : "none",
	       has(groups, "mmap") ? "no" : "yes", has(groups, "adjtimex") ? "no" : "yes");
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < PHX_ARRAY_SIZE(processes); i++)
		if (!strcmp(processes[i].name, argv[1])) {
			print(processes[i].groups);
			return 0;
		}
	fprintf(stderr, "usage: unit_of PROCESS\n");
	return 64;
}
