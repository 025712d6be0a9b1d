/* Scenario files: see scenario.h. Called by phx sim; the tree of settings lives
 * only while the file is read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/scenario_internal.h"

enum { LIST_MAX = PHX_SIM_RES_MAX };

static const struct phx_conf_key file_keys[] = {
	{"name", PHX_CONF_STR, offsetof(struct phx_sim_scenario, name), sizeof(((struct phx_sim_scenario *)0)->name),
	 false, 0, 0, NULL},
	{"window", PHX_CONF_DURATION, offsetof(struct phx_sim_scenario, window_s), sizeof(uint32_t), false, 0,
	 1000000000, NULL},
	{"estimates", PHX_CONF_ENUM, offsetof(struct phx_sim_scenario, estimates), sizeof(int), false, 0, 0,
	 &phx_sim_estimates_names},
	{"delays", PHX_CONF_OTHER, 0, 0, false, 0, 0, NULL},
	{"clusters", PHX_CONF_OTHER, 0, 0, true, 0, 0, NULL},
	{"traces", PHX_CONF_OTHER, 0, 0, true, 0, 0, NULL},
	{"res", PHX_CONF_OTHER, 0, 0, true, 0, 0, NULL},
};

static const struct phx_conf_key cluster_keys[] = {
	{"name", PHX_CONF_NAME, offsetof(struct phx_sim_scenario_cluster, name), PHX_NAME_MAX, true, 0, 0, NULL},
	{"nodes", PHX_CONF_U32, offsetof(struct phx_sim_scenario_cluster, nodes), sizeof(uint32_t), false, 1, 1000000,
	 NULL},
	{"unlimited", PHX_CONF_BOOL, offsetof(struct phx_sim_scenario_cluster, unlimited), sizeof(bool), false, 0, 0,
	 NULL},
};

#define RE(key, type, member, min, max, names)                                                                         \
	{                                                                                                              \
		key, type, offsetof(struct phx_sim_scenario_re, member),                                               \
			sizeof(((struct phx_sim_scenario_re *)0)->member), false, min, max, names                      \
	}
static const struct phx_conf_key re_keys[] = {
	{"name", PHX_CONF_NAME, offsetof(struct phx_sim_scenario_re, agreement.name), PHX_NAME_MAX, true, 0, 0, NULL},
	{"type", PHX_CONF_ENUM, offsetof(struct phx_sim_scenario_re, agreement.type), sizeof(int), true, 0, 0,
	 &phx_re_type_names},
	RE("cluster", PHX_CONF_NAME, cluster, 0, 0, NULL),
	RE("jobs", PHX_CONF_NAME, jobs, 0, 0, NULL),
	RE("demand", PHX_CONF_NAME, demand, 0, 0, NULL),
	RE("partner", PHX_CONF_NAME, agreement.partner, 0, 0, NULL),
	RE("resource_coordination_model", PHX_CONF_ENUM, agreement.model, 0, 0, &phx_policy_names),
	RE("lower_bound_size", PHX_CONF_U32, agreement.lower, 0, 1000000, NULL),
	RE("upper_bound_size", PHX_CONF_U32, agreement.upper, 0, 1000000, NULL),
	RE("lease", PHX_CONF_DURATION, agreement.lease_s, 0, 1000000000, NULL),
	RE("cycle", PHX_CONF_DURATION, agreement.cycle_s, 0, 1000000000, NULL),
	RE("scheduler", PHX_CONF_ENUM, agreement.scheduler, 0, 0, &phx_scheduler_names),
	RE("kill_order", PHX_CONF_ENUM, agreement.kill_order, 0, 0, &phx_kill_order_names),
	RE("no_requeue", PHX_CONF_BOOL, agreement.no_requeue, 0, 0, NULL),
	RE("request_threshold", PHX_CONF_OTHER, agreement.u_milli, 0, 0, NULL),
	RE("release_threshold", PHX_CONF_OTHER, agreement.v_milli, 0, 0, NULL),
	RE("elastic_factor", PHX_CONF_OTHER, agreement.g_milli, 0, 0, NULL),
	RE("obtain_threshold", PHX_CONF_OTHER, agreement.r_milli, 0, 0, NULL),
	RE("release_own", PHX_CONF_BOOL, agreement.release_own, 0, 0, NULL),
	RE("obtain_by_idle", PHX_CONF_BOOL, agreement.obtain_by_idle, 0, 0, NULL),
	RE("return_full", PHX_CONF_BOOL, agreement.return_full, 0, 0, NULL),
	RE("setup_policy", PHX_CONF_OTHER, agreement.setup, 0, 0, NULL),
};

static const struct phx_conf_key setup_keys[] = {
	{"mode", PHX_CONF_ENUM, offsetof(struct phx_setup, mode), sizeof(int), true, 0, 0, &phx_setup_mode_names},
	{"method", PHX_CONF_ENUM, offsetof(struct phx_setup, method), sizeof(int), false, 0, 0, &phx_wipe_method_names},
	{"when", PHX_CONF_ENUM, offsetof(struct phx_setup, when), sizeof(int), false, 0, 0, &phx_setup_when_names},
};

/* ---- delays ---- */

static int read_delay(const struct phx_conf *c, const config_setting_t *s, const char *key, uint32_t *ret,
		      struct phx_err *err)
{
	int64_t ms = *ret;
	int r = phx_sim_scenario_ms(c, s, key, &ms, err);
	if (r == 0 && ms > UINT32_MAX)
		r = phx_conf_fail(c, config_setting_get_member(s, key), -EINVAL, err, "%s is longer than 49 days", key);
	if (r == 0)
		*ret = (uint32_t)ms;
	return r;
}

static int read_delays(const struct phx_conf *c, const config_setting_t *s, struct phx_sim_delays *ret,
		       struct phx_err *err)
{
	static const struct phx_conf_key keys[] = {
		{"handover", PHX_CONF_OTHER, 0, 0, false, 0, 0, NULL},
		{"kill", PHX_CONF_OTHER, 0, 0, false, 0, 0, NULL},
		{"auto", PHX_CONF_OTHER, 0, 0, false, 0, 0, NULL},
		{"crypto", PHX_CONF_OTHER, 0, 0, false, 0, 0, NULL},
		{"discard", PHX_CONF_OTHER, 0, 0, false, 0, 0, NULL},
		{"overwrite", PHX_CONF_OTHER, 0, 0, false, 0, 0, NULL},
		{"secure-erase", PHX_CONF_OTHER, 0, 0, false, 0, 0, NULL},
	};
	if (!s)
		return 0;
	int r = phx_conf_group(c, s, keys, PHX_ARRAY_SIZE(keys), ret, err);
	r = r < 0 ? r : read_delay(c, s, "handover", &ret->handover_ms, err);
	r = r < 0 ? r : read_delay(c, s, "kill", &ret->kill_ms, err);
	for (int method = 0; r == 0 && method < (int)PHX_ARRAY_SIZE(ret->wipe_ms); method++)
		r = read_delay(c, s, phx_enum_name(&phx_wipe_method_names, method), &ret->wipe_ms[method], err);
	return r;
}

/* ---- clusters, REs, traces ---- */

static int read_cluster(const struct phx_conf *c, const config_setting_t *s, void *item, struct phx_err *err)
{
	struct phx_sim_scenario_cluster *cluster = item;
	int r = phx_conf_group(c, s, cluster_keys, PHX_ARRAY_SIZE(cluster_keys), cluster, err);
	if (r == 0 && !cluster->nodes == !cluster->unlimited)
		r = phx_conf_fail(c, s, -EINVAL, err, "cluster %s wants either nodes = COUNT or unlimited = true",
				  cluster->name);
	return r;
}

struct finding {
	const struct phx_conf *c;
	const config_setting_t *s;
	struct phx_err *err;
	int r;
};

/* The first finding becomes the error. */
static void found(void *arg, const char *field, const char *text)
{
	struct finding *f = arg;
	const config_setting_t *at = config_setting_get_member(f->s, field);
	if (f->r == 0)
		f->r = phx_conf_fail(f->c, at ? at : f->s, -EINVAL, f->err, "%s: %s", field, text);
}

static int read_re_rest(const struct phx_conf *c, const config_setting_t *s, struct phx_sim_scenario_re *re,
			struct phx_err *err)
{
	struct phx_agreement *a = &re->agreement;
	const config_setting_t *setup = config_setting_get_member(s, "setup_policy");
	int r = phx_sim_scenario_milli(c, s, "request_threshold", &a->u_milli, err);
	r = r < 0 ? r : phx_sim_scenario_milli(c, s, "release_threshold", &a->v_milli, err);
	r = r < 0 ? r : phx_sim_scenario_milli(c, s, "elastic_factor", &a->g_milli, err);
	r = r < 0 ? r : phx_sim_scenario_milli(c, s, "obtain_threshold", &a->r_milli, err);
	if (r == 0 && setup)
		r = phx_conf_group(c, setup, setup_keys, PHX_ARRAY_SIZE(setup_keys), &a->setup, err);
	return r;
}

static int read_re(const struct phx_conf *c, const config_setting_t *s, void *item, struct phx_err *err)
{
	struct phx_sim_scenario_re *re = item;
	struct finding finding = {c, s, err, 0};
	phx_agreement_init(&re->agreement);
	re->line = phx_conf_line(s);
	int r = phx_conf_group(c, s, re_keys, PHX_ARRAY_SIZE(re_keys), re, err);
	r = r < 0 ? r : read_re_rest(c, s, re, err);
	if (r < 0)
		return r;
	if (re->agreement.partner[0])
		re->agreement.coordination = PHX_RE_COORDINATED_OWN;
	if (*re->jobs && *re->demand)
		return phx_conf_fail(c, s, -EINVAL, err, "RE %s has jobs or a demand, not both", re->agreement.name);
	re->takes_rest =
		!config_setting_get_member(s, "lower_bound_size") &&
		(re->agreement.model == PHX_POLICY_fb || phx_policy((enum phx_policy_id)re->agreement.model)->fixed);
	if (re->takes_rest)
		re->agreement.lower = 1; /* until the clusters are known */
	phx_agreement_check(&re->agreement, found, &finding);
	return finding.r;
}

static int read_trace(const struct phx_conf *c, const config_setting_t *s, void *item, struct phx_err *err)
{
	struct phx_trace *t = item;
	const char *slash = strrchr(c->file, '/');
	if (slash)
		snprintf(t->dir, sizeof(t->dir), "%.*s", (int)(slash - c->file), c->file);
	return phx_sim_scenario_trace(c, s, t, err);
}

typedef int (*read_item_fn)(const struct phx_conf *c, const config_setting_t *s, void *item, struct phx_err *err);

/* Each group of the list `key`; its name (the first member of every item) must be new. */
static int read_list(const struct phx_conf *c, const char *key, size_t item_size, size_t name_at, read_item_fn read,
		     struct phx_list *ret, struct phx_err *err)
{
	config_setting_t *list = NULL;
	int r = phx_conf_list(c, config_root_setting(&c->cfg), key, &list, err);
	int n = list ? config_setting_length(list) : 0;
	if (r == 0 && (n < 1 || n > LIST_MAX))
		return phx_conf_fail(c, list, -EINVAL, err,
				     "%s: a list of 1 to %d groups is wanted: ( { name = \"...\"; } )", key, LIST_MAX);
	for (int i = 0; r == 0 && i < n; i++) {
		config_setting_t *s = config_setting_get_elem(list, (unsigned)i);
		char *item = phx_list_push(ret, item_size);
		if (!item)
			return -ENOMEM;
		if (!config_setting_is_group(s))
			return phx_conf_fail(c, s, -EINVAL, err, "%s: a group is wanted: { name = \"...\"; }", key);
		r = read(c, s, item, err);
		for (int k = 0; r == 0 && k < i; k++)
			if (!strcmp((char *)ret->items + (size_t)k * item_size + name_at, item + name_at))
				r = phx_conf_fail(c, s, -EINVAL, err, "%s: there are two called %s", key,
						  item + name_at);
	}
	return r;
}

/* ---- the whole file ---- */

static bool has_name(const struct phx_list *l, size_t item_size, size_t name_at, const char *name)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (!strcmp((char *)l->items + (size_t)i * item_size + name_at, name))
			return true;
	return false;
}

static int check_names(const struct phx_sim_scenario *s, struct phx_sim_scenario_re *re, struct phx_err *err)
{
	const char *trace = *re->jobs ? re->jobs : re->demand;
	if (!*re->cluster && s->clusters.n == 1)
		PHX_STR_SET(re->cluster, PHX_LIST_AT(&s->clusters, struct phx_sim_scenario_cluster, 0)->name);
	if (!has_name(&s->clusters, sizeof(struct phx_sim_scenario_cluster), 0, re->cluster))
		return phx_err_set(err, -EINVAL, "%s:%u: RE %s: there is no cluster '%s'", s->file, re->line,
				   re->agreement.name, re->cluster);
	if (*trace && !has_name(&s->traces, sizeof(struct phx_trace), offsetof(struct phx_trace, name), trace))
		return phx_err_set(err, -EINVAL, "%s:%u: RE %s: there is no trace '%s'", s->file, re->line,
				   re->agreement.name, trace);
	if (*re->agreement.partner &&
	    !has_name(&s->res, sizeof(*re), offsetof(struct phx_sim_scenario_re, agreement.name),
		      re->agreement.partner))
		return phx_err_set(err, -EINVAL, "%s:%u: RE %s: there is no RE '%s' to be its partner", s->file,
				   re->line, re->agreement.name, re->agreement.partner);
	return 0;
}

/* An RE of fixed bounds that does not say its own has what the others leave of the cluster. */
static int give_rest(struct phx_sim_scenario *s, struct phx_sim_scenario_re *re, struct phx_err *err)
{
	uint32_t nodes = 0, taken = 0;
	if (!re->takes_rest)
		return 0;
	PHX_LIST_EACH(const struct phx_sim_scenario_cluster, c, &s->clusters)
	{
		nodes += strcmp(c->name, re->cluster) ? 0 : c->nodes;
	}
	PHX_LIST_EACH(const struct phx_sim_scenario_re, other, &s->res)
	{
		if (other == re || strcmp(other->cluster, re->cluster))
			continue;
		if (other->takes_rest)
			nodes = 0;
		taken += other->agreement.lower;
	}
	if (nodes <= taken)
		return phx_err_set(err, -EINVAL,
				   "%s:%u: RE %s: lower_bound_size is missing, and what the others leave of cluster "
				   "%s is not one RE's",
				   s->file, re->line, re->agreement.name, re->cluster);
	re->agreement.lower = nodes - taken;
	return 0;
}

static int read_tree(const struct phx_conf *c, struct phx_sim_scenario *s, struct phx_err *err)
{
	config_setting_t *root = config_root_setting(&c->cfg);
	int r = phx_conf_group(c, root, file_keys, PHX_ARRAY_SIZE(file_keys), s, err);
	r = r < 0 ? r : read_delays(c, config_setting_get_member(root, "delays"), &s->delays, err);
	r = r < 0 ? r
		  : read_list(c, "clusters", sizeof(struct phx_sim_scenario_cluster), 0, read_cluster, &s->clusters,
			      err);
	r = r < 0 ? r
		  : read_list(c, "traces", sizeof(struct phx_trace), offsetof(struct phx_trace, name), read_trace,
			      &s->traces, err);
	r = r < 0 ? r
		  : read_list(c, "res", sizeof(struct phx_sim_scenario_re),
			      offsetof(struct phx_sim_scenario_re, agreement.name), read_re, &s->res, err);
	PHX_LIST_EACH(struct phx_sim_scenario_re, re, &s->res)
	{
		if (r == 0)
			r = check_names(s, re, err);
	}
	PHX_LIST_EACH(struct phx_sim_scenario_re, re, &s->res)
	{
		if (r == 0)
			r = give_rest(s, re, err);
	}
	return r;
}

static int read_conf(struct phx_conf *c, const char *const *set, size_t n_set, struct phx_sim_scenario *ret,
		     struct phx_err *err)
{
	struct phx_sim_scenario s = {.file = strdup(c->file)};
	int r = s.file ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < n_set; i++)
		r = phx_sim_scenario_set(c, set[i], err);
	r = r < 0 ? r : read_tree(c, &s, err);
	if (r == 0 && !s.name[0])
		PHX_STR_SET(s.name, s.file);
	if (r < 0)
		phx_sim_scenario_fini(&s);
	else
		*ret = s;
	return r;
}

int phx_sim_scenario_read(const char *path, const char *const *set, size_t n_set, struct phx_sim_scenario *ret,
			  struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	int r = phx_conf_read(path, &c, err);
	return r < 0 ? r : read_conf(&c, set, n_set, ret, err);
}

int phx_sim_scenario_parse(const char *text, size_t n, const char *what, const char *const *set, size_t n_set,
			   struct phx_sim_scenario *ret, struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	int r = phx_conf_parse(text, n, what, &c, err);
	return r < 0 ? r : read_conf(&c, set, n_set, ret, err);
}

void phx_sim_scenario_fini(struct phx_sim_scenario *s)
{
	PHX_LIST_EACH(struct phx_sim_scenario_re, re, &s->res)
	phx_record_fini(&phx_agreement_record, &re->agreement);
	phx_list_fini(&s->res);
	phx_list_fini(&s->clusters);
	phx_list_fini(&s->traces);
	free(s->file);
	*s = (struct phx_sim_scenario){0};
}

/* ---- the run ---- */

static unsigned cluster_index(const struct phx_sim_scenario *s, const char *name)
{
	unsigned i = 0;
	while (i < s->clusters.n && strcmp(PHX_LIST_AT(&s->clusters, struct phx_sim_scenario_cluster, i)->name, name))
		i++;
	return i;
}

static int load_workload(const struct phx_sim_scenario *s, const struct phx_sim_scenario_re *re,
			 struct phx_trace_store *store, struct phx_sim_re *ret, struct phx_err *err)
{
	const char *name = *re->jobs ? re->jobs : re->demand;
	*ret = (struct phx_sim_re){.agreement = &re->agreement, .cluster = cluster_index(s, re->cluster)};
	PHX_LIST_EACH(struct phx_trace, t, &s->traces)
	{
		const struct phx_trace_workload *w;
		if (strcmp(t->name, name))
			continue;
		int r = phx_trace_store_get(store, t, &w, err);
		if (r < 0)
			return phx_err_prefix(err, r, "trace %s", name);
		if (*re->jobs && !w->jobs.jobs && w->demand.n)
			return phx_err_set(err, -EINVAL, "%s:%u: RE %s: trace %s is a demand, not jobs", s->file,
					   re->line, re->agreement.name, name);
		if (*re->demand && !w->demand.n)
			return phx_err_set(err, -EINVAL, "%s:%u: RE %s: trace %s holds jobs, not a demand", s->file,
					   re->line, re->agreement.name, name);
		ret->jobs = *re->jobs ? &w->jobs : NULL;
		ret->demand = *re->jobs ? NULL : &w->demand;
	}
	return 0;
}

int phx_sim_scenario_run(const struct phx_sim_scenario *s, struct phx_trace_store *store,
			 const struct phx_sim_watch *watch, struct phx_sim_result *ret, struct phx_err *err)
{
	struct phx_sim_cluster clusters[PHX_SIM_CLUSTERS_MAX];
	struct phx_sim_re res[PHX_SIM_RES_MAX];
	if (s->clusters.n > PHX_SIM_CLUSTERS_MAX)
		return phx_err_set(err, -EINVAL, "%s: at most %d clusters", s->file, PHX_SIM_CLUSTERS_MAX);
	for (uint32_t i = 0; i < s->clusters.n; i++) {
		const struct phx_sim_scenario_cluster *c =
			PHX_LIST_AT(&s->clusters, struct phx_sim_scenario_cluster, i);
		clusters[i] = (struct phx_sim_cluster){c->name, {.nodes = c->nodes, .unlimited = c->unlimited}};
	}
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < s->res.n; i++)
		r = load_workload(s, PHX_LIST_AT(&s->res, struct phx_sim_scenario_re, i), store, &res[i], err);
	struct phx_sim_config config = {.clusters = clusters,
					.n_clusters = s->clusters.n,
					.res = res,
					.n_res = s->res.n,
					.window_ms = (int64_t)s->window_s * 1000,
					.estimates = s->estimates,
					.delays = s->delays,
					.watch = watch};
	r = r < 0 ? r : phx_sim_run(&config, ret, err);
	return r < 0 ? phx_err_prefix(err, r, "%s", s->file) : 0;
}
