/* What a program of a root would really run: see inside.h. Called by inside.c between fork and the
 * program: no memory is taken. As long as we are the program that is running, the names
 * /proc/self/exe and /proc/1/exe lead out of the root, to a file that root inside may change. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/inside.h"

/* the kernel follows four scripts, and reads so much of each */
enum { SCRIPTS_MAX = 5, HEAD_MAX = 256 };

static bool is_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Its beginning; false: it is not there. *ret_own: it is our own program. */
static bool look(const char *path, char ret[HEAD_MAX + 1], bool *ret_own)
{
	struct stat st, own;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* a doubt counts as ours */
	*ret_own = fstat(fd, &st) < 0 || stat("/proc/self/exe", &own) < 0 || is_file(&st, &own);
	ssize_t n = *ret_own || !S_ISREG(st.st_mode) ? 0 : read(fd, ret, HEAD_MAX);
	close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return true;
}

/* "#!/bin/sh -e": what runs it. What is neither that nor a program, execvp() gives to the shell. */
static const char *interpreter(char *head)
{
	if (!memcmp(head, ELFMAG, SELFMAG))
		return NULL;
	if (head[0] != '#' || head[1] != '!')
		return "/bin/sh";
	char *name = head + 2 + strspn(head + 2, " \t");
	name[strcspn(name, " \t\n")] = '\0';
	return name;
}

static int check_file(const char *path)
{
	char head[2][HEAD_MAX + 1];
	bool own;
	for (int i = 0; path && i < SCRIPTS_MAX; i++) {
		if (!look(path, head[i % 2], &own))
			return 0;
		if (own)
			return -EPERM;
		path = interpreter(head[i % 2]);
	}
	return path ? -ELOOP : 0;
}

int phx_inside_check_program(const char *program)
{
	static const char path[] = PHX_INSIDE_PATH;
	char file[4096];
	int r = strchr(program, '/') ? check_file(program) : 0;
	for (const char *p = path; r == 0 && *p && !strchr(program, '/');) {
		size_t n = strcspn(p, ":");
		if (snprintf(file, sizeof(file), "%.*s/%s", (int)n, p, program) < (int)sizeof(file))
			r = check_file(file);
		p += n + (p[n] == ':');
	}
	return r;
}
