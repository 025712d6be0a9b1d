/* What the files of phx job share. */
#ifndef PHX_JOB_H
#define PHX_JOB_H

#include "phx/cli.h"

/** Wait until the job has ended, print what it wrote and what went wrong; returns what phx exits
 * with. */
int cli_job_follow(struct cli *cli, const char *id);

/** The same of all members of an array, by their numbers: nothing of what they wrote is printed. */
int cli_job_follow_array(struct cli *cli, int64_t first, int64_t last);
bool cli_job_ended(const json_t *job);

/** All jobs that one sees, of one RE or of all (NULL), appended to `jobs`; returns an exit code,
 * with the reason printed. */
int cli_jobs(struct cli *cli, const char *re, json_t *jobs);

/** A job that wants --cores of a node, made of what phx job submit sends for one that has whole
 * nodes: as a workflow, which is submitted. An exit status. */
int cli_job_submit_cores(struct cli *cli, const json_t *body);

/** A program text on this machine that is sent with the job; cli_script_fini(). */
struct cli_script {
	char *text;
	char *lines;  /* of its options, cut into words */
	char **words; /* into it */
	int n_words;
};
/** Read it, and take the options of its #PHX lines into cli->args, where the command line has not
 * given them: they borrow from `ret` for as long as they are used. Returns an exit code, with the
 * reason printed. */
int cli_script_read(struct cli *cli, const char *path, struct cli_script *ret);
void cli_script_fini(struct cli_script *s);

#endif
