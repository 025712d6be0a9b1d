/* The process that the hands are. Started by hands.c, through the program's main. */
#include "power/hands_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* More than the queue has threads, and those of the API that ask whether a BMC is ready. */
enum { THREADS = 512, FIRST_WORD = 5 };

/* argv: PROGRAM --hands USER BMC_DIR RUN_DIR [PATH...] -- [WORD...] */
static int read_words(int argc, char **argv, struct phx_list *ret_paths,
		      struct phx_list *ret_anchor)
{
	struct phx_list *to = ret_paths;
	for (int i = FIRST_WORD; i < argc; i++) {
		if (to == ret_paths && !strcmp(argv[i], "--")) {
			to = ret_anchor;
			continue;
		}
		struct phx_word *w = phx_list_push(to, sizeof(*w));
		if (!w || PHX_STR_SET(w->text, argv[i]) < 0)
			return -EINVAL;
	}
	return to == ret_anchor ? 0 : -EINVAL;
}

/* Where their programs put what they need for a moment: without one they have no such place. */
static void begin_own_dir(const char *dir)
{
	if (phx_dir_make(dir, 0700, NULL) < 0)
		return;
	setenv("HOME", dir, 1);
	setenv("TMPDIR", dir, 1);
}

static int serve(int fd, const struct phx_hands_config *config)
{
	struct phx_err err = {0};
	const struct phx_apart_server server = {.body_max = HANDS_BODY_MAX,
						.threads = THREADS,
						.answer = hands_answer,
						.arg = (void *)config};
	PHX_AUTO_FREE char *own_dir = phx_path("%s/hands", config->run_dir);
	if (!own_dir)
		return -ENOMEM;
	phx_apart_deaf();
	begin_own_dir(own_dir);
	int r = hands_confine(config, own_dir, &err);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text);
	return r ? r : phx_apart_serve(fd, &server);
}

void phx_hands_serve(int fd, int argc, char **argv)
{
	struct phx_list paths = {0}, anchor = {0};
	int r = argc < FIRST_WORD ? -EINVAL : read_words(argc, argv, &paths, &anchor);
	const struct phx_hands_config config = {.user = argv[2],
						.bmc_dir = argv[3],
						.run_dir = argv[4],
						.paths = &paths,
						.anchor = &anchor};
	r = r ? r : serve(fd, &config);
	/* operations under way end with it, and their programs: the head is gone */
	_exit(r == -EPIPE ? 0 : 1);
}
