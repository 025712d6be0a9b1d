/* How phxd uses the hands, the process that talks to BMCs and runs the site's programs
 * (lib/power/hands.h). Called by main.c, and by any thread that needs the process. */
#include "phxd/apart.h"
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WHAT "the process that talks to BMCs"

enum { FILES_MAX = 256, TELL_MAX = 20 };

struct hands {
	struct apart_watch watch;
	struct phx_hands *process;
};

struct phx_hands_config hands_config(const struct phx_config *cfg)
{
	return (struct phx_hands_config){.program = "/proc/self/exe",
					 .user = cfg->hands_user,
					 .bmc_dir = cfg->bmc_dir,
					 .run_dir = cfg->run_dir,
					 .paths = &cfg->hands_paths,
					 .anchor = &cfg->anchor_program};
}

int hands_new(struct daemon *d, struct hands **ret, struct phx_err *err)
{
	struct hands *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->watch.d = d;
	h->watch.what = WHAT;
	struct phx_hands_config config = hands_config(&d->cfg);
	config.restarted = apart_restarted;
	config.arg = &h->watch;
	config.start = launch_hands;
	config.start_arg = d->launch;
	int r = phx_hands_start(&config, &h->process, err);
	if (r < 0)
		hands_free(h);
	else
		*ret = h;
	return r;
}

void hands_free(struct hands *h)
{
	if (!h)
		return;
	phx_hands_end(h->process);
	free(h);
}

struct phx_hands *hands_process(struct hands *h)
{
	return h->process;
}

int hands_tick(struct hands *h)
{
	return apart_tick(&h->watch, phx_hands_pid(h->process));
}

/* ---- files that BMCs of nodes name ---- */

static bool is_known(const struct phx_list *bmcs, const struct phx_bmc *bmc)
{
	PHX_LIST_EACH(struct phx_bmc, b, bmcs)
		if (!strcmp(b->password_file, bmc->password_file) &&
		    !strcmp(b->script, bmc->script))
			return true;
	return false;
}

/* Picks one BMC for each pair of password file and script, at most FILES_MAX. */
static void pick_bmcs(struct daemon *d, struct phx_list *ret)
{
	const struct phx_state *s = engine_lock(d->engine);
	PHX_NODES_EACH(n, s) {
		bool names = n->bmc.password_file[0] || n->bmc.script[0];
		struct phx_bmc *to = names && ret->n < FILES_MAX && !is_known(ret, &n->bmc)
			? phx_list_push(ret, sizeof(*to))
			: NULL;
		if (to)
			*to = n->bmc;
	}
	engine_unlock(d->engine);
}

void hands_look(struct hands *h)
{
	struct phx_list bmcs = {0};
	unsigned n = 0;
	pick_bmcs(h->watch.d, &bmcs);
	PHX_LIST_EACH(struct phx_bmc, bmc, &bmcs) {
		struct phx_err err = {0};
		if (n < TELL_MAX && phx_hands_ready(h->process, bmc, &err) < 0 && ++n)
			fprintf(stderr, "phxd: the power of %s cannot be switched: %s\n", bmc->node,
				err.text);
	}
	phx_list_fini(&bmcs);
}
