/* Makes a directory tree from a text: the /sys and /proc of a machine, in one
 * small file. Lines: "PATH = TEXT" (escapes \n, \0, \xHH), "PATH -> TARGET" (symbolic
 * link), "PATH/" (directory), "PATH < FILE" (copy of a file beside the text), "#" comments. */
#ifndef PHX_TESTS_TREE_H
#define PHX_TESTS_TREE_H

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static inline size_t tree_unescape(char *s)
{
	size_t n = 0;
	for (char *p = s; *p; n++) {
		unsigned int value;
		if (p[0] == '\\' && p[1] == 'n')
			s[n] = '\n', p += 2;
		else if (p[0] == '\\' && p[1] == '0')
			s[n] = '\0', p += 2;
		else if (p[0] == '\\' && p[1] == 'x' && sscanf(p + 2, "%2x", &value) == 1)
			s[n] = (char)value, p += 4;
		else
			s[n] = *p++;
	}
	return n;
}

static inline void tree_parent(const char *path)
{
	char dir[512];
	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	phx_dir_make(dir, 0755, NULL);
}

static inline int tree_line(const char *root, const char *beside, char *line)
{
	char path[512], *mark;
	char *rest = line + strcspn(line, " ");
	bool bare = !*rest;
	if (!bare) {
		*rest++ = '\0';
		mark = rest;
		rest += strcspn(rest, " ");
		rest += *rest == ' ';
	} else {
		mark = rest;
	}
	snprintf(path, sizeof(path), "%s/%s", root, line);
	tree_parent(path);
	if (bare)
		return phx_dir_make(path, 0755, NULL);
	if (mark[0] == '-')
		return symlink(rest, path);
	if (mark[0] == '<') {
		PHX_AUTO_FREE char *from = phx_path("%s/%s", beside, rest), *data = NULL;
		size_t n;
		return phx_file_read(from, 1 << 20, &data, &n, NULL) < 0
			? -1
			: phx_file_write(path, data, n, 0644, NULL);
	}
	size_t n = tree_unescape(rest);
	return phx_file_write(path, rest, n, 0644, NULL);
}

/* 0 when all lines were made below `root`. */
static inline int tree_make(const char *root, const char *beside, const char *text)
{
	PHX_AUTO_FREE char *copy = strdup(text);
	for (char *save, *line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (*line == '#')
			continue;
		if (tree_line(root, beside, line) < 0) {
			fprintf(stderr, "tree: %s: cannot be made\n", line);
			return -1;
		}
	}
	return 0;
}

#endif
