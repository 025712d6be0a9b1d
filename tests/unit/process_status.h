/* What the kernel says of another process: for tests of what processes give up. */
#ifndef TESTS_PROCESS_STATUS_H
#define TESTS_PROCESS_STATUS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/** Does its /proc/PID/status have this text? False, too, where there is no such process. */
static inline bool process_status_has(pid_t pid, const char *text)
{
	char path[64], status[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	size_t n = fread(status, 1, sizeof(status) - 1, f);
	fclose(f);
	status[n] = '\0';
	return strstr(status, text);
}

#endif
