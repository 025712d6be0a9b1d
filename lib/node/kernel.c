/* See kernel.h. */
#include "node/kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "state/node_sets.h"

void phx_kernel_word(const char *release, const char *args, char ret[PHX_KERNEL_WORD_MAX])
{
	char hash[12] = "";
	if (args[0])
		snprintf(hash, sizeof(hash), ",%08x", (unsigned)phx_hash_text(args));
	snprintf(ret, PHX_KERNEL_WORD_MAX, "%s%s", release, hash);
}

/* What the rest of the plan does. */
struct ahead {
	bool erases, brings, enters; /* a wipe; an image; the system */
};

static struct ahead look_ahead(const struct phx_plan *p)
{
	struct ahead a = {0};
	for (uint32_t i = p->cursor; i < p->steps.n; i++) {
		int kind = PHX_LIST_AT(&p->steps, struct phx_step, i)->kind;
		a.erases = a.erases || kind == PHX_STEP_wipe;
		a.brings = a.brings || kind == PHX_STEP_image || kind == PHX_STEP_ram;
		a.enters = a.enters || kind == PHX_STEP_enter;
	}
	return a;
}

static void of_role(const struct phx_role *role, struct phx_kernel *ret)
{
	PHX_STR_SET(ret->image, role->image_kernel[0] ? role->image : "");
	PHX_STR_SET(ret->version, role->image_kernel[0] ? role->image_version : "");
	PHX_STR_SET(ret->release, role->image_kernel);
}

/* Of the system that is on the node, which may be older than the role's. */
static void of_system(const struct phx_node *n, struct phx_kernel *ret)
{
	bool own = n->system_digest[0] && n->system_kernel[0];
	PHX_STR_SET(ret->image, own ? n->system_image : "");
	PHX_STR_SET(ret->version, own ? n->system_version : "");
	PHX_STR_SET(ret->release, own ? n->system_kernel : "");
}

/* Is a system there, or will one be fetched into memory, that is entered after the start? */
static bool has_system(const struct phx_node *n, const struct phx_role *role, bool brings)
{
	return brings || (n->system_disk[0] && n->system_digest[0]) ||
		(role && !phx_role_boot(role)->on_disk);
}

void phx_kernel_of(const struct phx_state *s, const struct phx_node *n, struct phx_kernel *ret)
{
	bool planned = phx_node_step(n) && n->plan.to_role[0];
	struct ahead ahead = phx_node_step(n) ? look_ahead(&n->plan) : (struct ahead){0};
	struct phx_role store;
	const struct phx_role *role =
		phx_state_role_in(s, phx_state_role(s, planned ? n->plan.to_role : n->role),
				  planned ? n->plan.to_pool : n->pool, &store);
	*ret = (struct phx_kernel){0};
	if (ahead.erases || !has_system(n, role, ahead.brings))
		return;
	if (role)
		PHX_STR_SET(ret->args, role->kernel_args);
	/* a system in memory is fetched as its role has it by then */
	bool anew = ahead.brings || (!n->system_disk[0] && !ahead.enters);
	if (role && (anew || !strcmp(role->image_digest, n->system_digest)))
		of_role(role, ret);
	else
		of_system(n, ret);
}

/* The same kernel without arguments of its own, from the deploy image, will do. */
static bool same(const char *release, const char *args, const char *runs)
{
	return !args[0] && release[0] && !strcmp(release, runs);
}

bool phx_kernel_fits(const struct phx_state *s, const struct phx_node *n)
{
	struct phx_kernel want;
	char word[PHX_KERNEL_WORD_MAX];
	if (!n->kernels) /* an older agent: it stays with the one that it has */
		return true;
	phx_kernel_of(s, n, &want);
	phx_kernel_word(want.release, want.args, word);
	return !strcmp(word, phx_text(n->kernel_word)) ||
		(!n->kernel_word && same(want.release, want.args, n->facts.kernel));
}

bool phx_kernel_other(const struct phx_state *s, const struct phx_node *n,
		      const struct phx_step *step)
{
	return n->env == PHX_ENV_DEPLOY && step->kind != PHX_STEP_kernel &&
		phx_step_info((enum phx_step_kind)step->kind)->needs == PHX_NEEDS_DEPLOY &&
		!phx_kernel_fits(s, n);
}

bool phx_kernel_wanted(const struct phx_plan_request *q, bool from_deploy)
{
	char word[PHX_KERNEL_WORD_MAX];
	const char *release = q->to->image_kernel, *args = q->to->kernel_args;
	const char *has = from_deploy ? "" : phx_text(q->node->kernel_word);
	const char *deploy = q->deploy_kernel ? q->deploy_kernel : "";
	const char *runs = from_deploy ? deploy : q->node->facts.kernel;
	phx_kernel_word(release, args, word);
	return strcmp(word, has) != 0 && !(!has[0] && same(release, args, runs));
}

const char *phx_kernel_of_deploy(const struct phx_state *s)
{
	PHX_LIST_EACH(struct phx_used_image, u, &s->deploy_used)
		if (!strcmp(u->name, s->settings.image_deploy))
			return u->kernel;
	return "";
}
