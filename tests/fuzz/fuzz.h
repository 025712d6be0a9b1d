/* What the fuzz targets share. A target gets any bytes; whatever they are, nothing may crash, hang
 * or be taken that its parser's header rules out. Included by tests/fuzz/NAME.c alone. */
#ifndef PHX_FUZZ_FUZZ_H
#define PHX_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/** Ends the target, and keeps the input, where something holds that must not. */
#define fuzz_never(wrong) ((wrong) ? fuzz_end(__FILE__, __LINE__, #wrong) : (void)0)

static inline void fuzz_end(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: never: %s\n", file, line, what);
	abort();
}

/** The input as a text of its own, malloc'd: exactly as long as it is, so that what reads beyond is
 * seen. */
static inline char *fuzz_text(const void *data, size_t n)
{
	char *text = malloc(n + 1);
	fuzz_never(!text);
	if (n)
		memcpy(text, data, n);
	text[n] = '\0';
	return text;
}

/** Cuts `text` behind its first line, and gives what follows it: "" where nothing does. */
static inline char *fuzz_line(char *text)
{
	char *end = text + strcspn(text, "\n");
	if (!*end)
		return end;
	*end = '\0';
	return end + 1;
}

static char fuzz_dir_[] = "/dev/shm/phx-fuzz-XXXXXX";

static inline void fuzz_dir_remove(void)
{
	phx_dir_remove(fuzz_dir_, NULL);
}

/** A directory of this process alone, in memory, gone when it ends. */
static inline const char *fuzz_dir(void)
{
	static bool made;
	if (!made) {
		fuzz_never(!mkdtemp(fuzz_dir_));
		made = true;
		atexit(fuzz_dir_remove);
	}
	return fuzz_dir_;
}

/** Makes the file `name` in fuzz_dir() have these bytes; its path, valid until the next call. */
static inline const char *fuzz_file(const char *name, const void *data, size_t n)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", fuzz_dir(), name);
	FILE *f = fopen(path, "w");
	fuzz_never(!f || fwrite(data, 1, n, f) != n || fclose(f) != 0);
	return path;
}

#endif
