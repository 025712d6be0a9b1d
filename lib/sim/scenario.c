/* Scenario files: see scenario.h. Called by phx sim; the tree of settings lives
 * only while the file is read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "sim/scenario_internal.h"

enum { LIST_MAX = PHX_SIM_RES_MAX };

#define FILE_ROWS(F, S) \
	F(S, name, STR(128), KEY(name, LINE, "", "What the result is called.")) \
	F(S, window_s, U32, \
	  KEY(window, TIME(0, 1000000000), "", \
	      "Jobs submitted within it count, those that finish by its end are completed, and " \
	      "the run ends there. Without it the run ends when all jobs have ended and all " \
	      "series are over.")) \
	F(S, estimates, ENUM(phx_sim_estimates), \
	  KEY(estimates, CHOICE, "", \
	      "Where the run times come from that a scheduler plans with: those of the log, and " \
	      "the run time where it has none; exact ones; or strictly those of the log, and " \
	      "none where it has none. Default: log.")) \
	F(S, delays, REC(delays), \
	  KEY(delays, GROUP, "", \
	      "How long what phxd does takes; all 0 unless said, as in the simulations of the " \
	      "papers.")) \
	F(S, clusters, LIST(cluster), \
	  KEY(clusters, OTHER, PHX_REQUIRED, "Groups, see Clusters below.")) \
	F(S, traces, LIST(cluster), \
	  KEY(traces, OTHER, PHX_REQUIRED, \
	      "Groups, each with a name and one key of TRACES that names its file.")) \
	F(S, res, LIST(cluster), \
	  KEY(res, OTHER, PHX_REQUIRED, \
	      "Groups, see REs below, in the order in which they become active."))
/* a key holds a '-' */
/* clang-format off */
#define DELAY_ROWS(F, S) \
	F(S, handover_ms, U32, KEY(handover, SPAN, "", "Of each node that moves.")) \
	F(S, kill_ms, U32, KEY(kill, SPAN, "", "Until a job that is told to end has ended.")) \
	F(S, wipe_ms[PHX_WIPE_AUTO], U32, \
	  KEY(auto, SPAN, "", "A wipe whose method the node decides.")) \
	F(S, wipe_ms[PHX_WIPE_CRYPTO], U32, KEY(crypto, SPAN, "", "A wipe by its key.")) \
	F(S, wipe_ms[PHX_WIPE_DISCARD], U32, KEY(discard, SPAN, "", "A wipe by discard.")) \
	F(S, wipe_ms[PHX_WIPE_OVERWRITE], U32, \
	  KEY(overwrite, SPAN, "", "A wipe by writing over it.")) \
	F(S, wipe_ms[PHX_WIPE_SECURE_ERASE], U32, \
	  KEY(secure-erase, SPAN, "", "A wipe by the disk itself."))
/* clang-format on */
#define CLUSTER_ROWS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, PHX_REQUIRED, "By which REs name it.")) \
	F(S, nodes, U32, \
	  KEY(nodes, NUMBER(1, 1000000), "", "How many it has; this or unlimited is wanted.")) \
	F(S, unlimited, BOOL, KEY(unlimited, YES, "", "A provider that grants whatever is asked."))
PHX_RECORD_LOCAL(cluster, phx_sim_scenario_cluster, CLUSTER_ROWS);
PHX_RECORD_LOCAL(delays, phx_sim_delays, DELAY_ROWS);
PHX_RECORD_LOCAL(file, phx_sim_scenario, FILE_ROWS);

/* An RE has these keys, and those of its agreement that the simulator knows how to use: their rows
 * are the agreement's own. */
#define RE_ROWS(F, S) \
	F(S, cluster, STR(PHX_NAME_MAX), \
	  KEY(cluster, NAME, "", "Whose nodes it uses; needed where there are several.")) \
	F(S, jobs, STR(PHX_NAME_MAX), KEY(jobs, NAME, "", "The trace of its jobs.")) \
	F(S, demand, STR(PHX_NAME_MAX), KEY(demand, NAME, "", "The trace of its demand.")) \
	F(S, agreement.setup, REC(phx_setup), \
	  KEY(setup_policy, GROUP, "", \
	      "A group as in phoenix.conf(5): what is done to a node that moves."))
static const struct phx_field re_fields[] = {RE_ROWS(PHX_ROW_, phx_sim_scenario_re)};
static const struct phx_record re_record = {.size = sizeof(struct phx_sim_scenario_re),
					    .fields = re_fields,
					    .n_fields = PHX_ARRAY_SIZE(re_fields)};
static const char *const agreed[] = {
	"name",
	"type",
	"partner",
	"resource_coordination_model",
	"lower_bound_size",
	"upper_bound_size",
	"lease",
	"cycle",
	"scheduler",
	"kill_order",
	"no_requeue",
	"request_threshold",
	"release_threshold",
	"elastic_factor",
	"obtain_threshold",
	"release_own",
	"obtain_by_idle",
	"return_full",
};

const struct phx_record *phx_sim_scenario_table(const char *part)
{
	static const struct {
		const char *name;
		const struct phx_record *rows;
	} parts[] = {{"scenario", &file_record},
		     {"delays", &delays_record},
		     {"cluster", &cluster_record},
		     {"scenario-re", &re_record}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(parts); i++)
		if (phx_str_eq(parts[i].name, part))
			return parts[i].rows;
	return phx_sim_scenario_trace_table(part);
}

const char *phx_sim_scenario_agreed(size_t i)
{
	return i < PHX_ARRAY_SIZE(agreed) ? agreed[i] : NULL;
}

/* ---- clusters, REs, traces ---- */

static int read_cluster(const struct phx_conf *c, const config_setting_t *s, void *item,
			struct phx_err *err)
{
	struct phx_sim_scenario_cluster *cluster = item;
	int r = phx_conf_group(c, s, &cluster_record, cluster, err);
	if (r == 0 && !cluster->nodes == !cluster->unlimited)
		r = phx_conf_fail(c, s, -EINVAL, err,
				  "cluster %s wants either nodes = COUNT or unlimited = true",
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

/* The group of an RE by both tables as one. The agreement stands first in the struct: offsets into
 * it are the same. */
static int read_agreed(const struct phx_conf *c, const config_setting_t *s,
		       struct phx_sim_scenario_re *re, struct phx_err *err)
{
	static const char *const needed[] = {"name", "type"};
	_Static_assert(offsetof(struct phx_sim_scenario_re, agreement) == 0,
		       "its rows are used as they are");
	struct phx_field rows[PHX_ARRAY_SIZE(agreed) + PHX_ARRAY_SIZE(re_fields)];
	struct phx_record both = {
		.size = sizeof(*re), .fields = rows, .n_fields = PHX_ARRAY_SIZE(rows)};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(agreed); i++)
		rows[i] = *phx_key_find(&phx_agreement_record, agreed[i]);
	memcpy(rows + PHX_ARRAY_SIZE(agreed), re_fields, sizeof(re_fields));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(needed); i++)
		if (!config_setting_get_member(s, needed[i]))
			return phx_conf_fail(c, s, -EINVAL, err, "%s is missing", needed[i]);
	return phx_conf_group(c, s, &both, re, err);
}

static int read_re(const struct phx_conf *c, const config_setting_t *s, void *item,
		   struct phx_err *err)
{
	struct phx_sim_scenario_re *re = item;
	struct finding finding = {c, s, err, 0};
	phx_agreement_init(&re->agreement);
	re->line = phx_conf_line(s);
	int r = read_agreed(c, s, re, err);
	if (r < 0)
		return r;
	if (re->agreement.partner[0])
		re->agreement.coordination = PHX_RE_COORDINATED_OWN;
	if (*re->jobs && *re->demand)
		return phx_conf_fail(c, s, -EINVAL, err, "RE %s has jobs or a demand, not both",
				     re->agreement.name);
	re->takes_rest = !config_setting_get_member(s, "lower_bound_size") &&
		phx_policy((enum phx_policy_id)re->agreement.model)->same_bounds;
	if (re->takes_rest)
		re->agreement.lower = 1; /* until the clusters are known */
	phx_agreement_check(&re->agreement, found, &finding);
	return finding.r;
}

static int read_trace(const struct phx_conf *c, const config_setting_t *s, void *item,
		      struct phx_err *err)
{
	struct phx_trace *t = item;
	const char *slash = strrchr(c->file, '/');
	if (slash)
		snprintf(t->dir, sizeof(t->dir), "%.*s", (int)(slash - c->file), c->file);
	return phx_sim_scenario_trace(c, s, t, err);
}

typedef int (*read_item_fn)(const struct phx_conf *c, const config_setting_t *s, void *item,
			    struct phx_err *err);

/* Each group of the list `key`; its name (the first member of every item) must be new. */
static int read_list(const struct phx_conf *c, const char *key, size_t item_size, size_t name_at,
		     read_item_fn read, struct phx_list *ret, struct phx_err *err)
{
	config_setting_t *list = NULL;
	int r = phx_conf_list(c, config_root_setting(&c->cfg), key, &list, err);
	int n = list ? config_setting_length(list) : 0;
	if (r == 0 && (n < 1 || n > LIST_MAX))
		return phx_conf_fail(
			c, list, -EINVAL, err,
			"%s: a list of 1 to %d groups is wanted: ( { name = \"...\"; } )", key,
			LIST_MAX);
	for (int i = 0; r == 0 && i < n; i++) {
		config_setting_t *s = config_setting_get_elem(list, (unsigned)i);
		char *item = phx_list_push(ret, item_size);
		if (!item)
			return -ENOMEM;
		if (!config_setting_is_group(s))
			return phx_conf_fail(c, s, -EINVAL, err,
					     "%s: a group is wanted: { name = \"...\"; }", key);
		r = read(c, s, item, err);
		for (int k = 0; r == 0 && k < i; k++)
			if (!strcmp((char *)ret->items + (size_t)k * item_size + name_at,
				    item + name_at))
				r = phx_conf_fail(c, s, -EINVAL, err, "%s: there are two called %s",
						  key, item + name_at);
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

static int check_names(const struct phx_sim_scenario *s, struct phx_sim_scenario_re *re,
		       struct phx_err *err)
{
	const char *trace = *re->jobs ? re->jobs : re->demand;
	if (!*re->cluster && s->clusters.n == 1)
		PHX_STR_SET(re->cluster,
			    PHX_LIST_AT(&s->clusters, struct phx_sim_scenario_cluster, 0)->name);
	if (!has_name(&s->clusters, sizeof(struct phx_sim_scenario_cluster), 0, re->cluster))
		return phx_err_set(err, -EINVAL, "%s:%u: RE %s: there is no cluster '%s'", s->file,
				   re->line, re->agreement.name, re->cluster);
	if (*trace &&
	    !has_name(&s->traces, sizeof(struct phx_trace), offsetof(struct phx_trace, name),
		      trace))
		return phx_err_set(err, -EINVAL, "%s:%u: RE %s: there is no trace '%s'", s->file,
				   re->line, re->agreement.name, trace);
	if (*re->agreement.partner &&
	    !has_name(&s->res, sizeof(*re), offsetof(struct phx_sim_scenario_re, agreement.name),
		      re->agreement.partner))
		return phx_err_set(err, -EINVAL,
				   "%s:%u: RE %s: there is no RE '%s' to be its partner", s->file,
				   re->line, re->agreement.name, re->agreement.partner);
	return 0;
}

/* An RE of fixed bounds that does not say its own has what the others leave of the cluster. */
static int give_rest(struct phx_sim_scenario *s, struct phx_sim_scenario_re *re,
		     struct phx_err *err)
{
	uint32_t nodes = 0, taken = 0;
	if (!re->takes_rest)
		return 0;
	PHX_LIST_EACH(const struct phx_sim_scenario_cluster, c, &s->clusters) {
		nodes += strcmp(c->name, re->cluster) ? 0 : c->nodes;
	}
	PHX_LIST_EACH(const struct phx_sim_scenario_re, other, &s->res) {
		if (other == re || strcmp(other->cluster, re->cluster))
			continue;
		if (other->takes_rest)
			nodes = 0;
		taken += other->agreement.lower;
	}
	if (nodes <= taken)
		return phx_err_set(err, -EINVAL,
				   "%s:%u: RE %s: lower_bound_size is missing, and what the others "
				   "leave of cluster "
				   "%s is not one RE's",
				   s->file, re->line, re->agreement.name, re->cluster);
	re->agreement.lower = nodes - taken;
	return 0;
}

static int read_tree(const struct phx_conf *c, struct phx_sim_scenario *s, struct phx_err *err)
{
	config_setting_t *root = config_root_setting(&c->cfg);
	int r = phx_conf_group(c, root, &file_record, s, err);
	r = r < 0 ? r
		  : read_list(c, "clusters", sizeof(struct phx_sim_scenario_cluster), 0,
			      read_cluster, &s->clusters, err);
	r = r < 0 ? r
		  : read_list(c, "traces", sizeof(struct phx_trace),
			      offsetof(struct phx_trace, name), read_trace, &s->traces, err);
	r = r < 0 ? r
		  : read_list(c, "res", sizeof(struct phx_sim_scenario_re),
			      offsetof(struct phx_sim_scenario_re, agreement.name), read_re,
			      &s->res, err);
	PHX_LIST_EACH(struct phx_sim_scenario_re, re, &s->res) {
		if (r == 0)
			r = check_names(s, re, err);
	}
	PHX_LIST_EACH(struct phx_sim_scenario_re, re, &s->res) {
		if (r == 0)
			r = give_rest(s, re, err);
	}
	return r;
}

int phx_sim_scenario_parse(const char *text, size_t n, const char *what, const char *const *set,
			   size_t n_set, struct phx_sim_scenario *ret, struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	int r = phx_conf_parse(text, n, what, &c, err);
	if (r < 0)
		return r;
	struct phx_sim_scenario s = {.file = strdup(c.file)};
	r = s.file ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < n_set; i++)
		r = phx_sim_scenario_set(&c, set[i], err);
	r = r < 0 ? r : read_tree(&c, &s, err);
	if (r == 0 && !s.name[0])
		PHX_STR_SET(s.name, s.file);
	if (r < 0)
		phx_sim_scenario_fini(&s);
	else
		*ret = s;
	return r;
}

int phx_sim_scenario_read(const char *path, const char *const *set, size_t n_set,
			  struct phx_sim_scenario *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0;
	int r = phx_file_read(path, PHX_CONF_FILE_MAX, &text, &n, err);
	return r < 0 ? r : phx_sim_scenario_parse(text, n, path, set, n_set, ret, err);
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
	while (i < s->clusters.n &&
	       strcmp(PHX_LIST_AT(&s->clusters, struct phx_sim_scenario_cluster, i)->name, name))
		i++;
	return i;
}

static int load_workload(const struct phx_sim_scenario *s, const struct phx_sim_scenario_re *re,
			 struct phx_trace_store *store, struct phx_sim_re *ret, struct phx_err *err)
{
	const char *name = *re->jobs ? re->jobs : re->demand;
	*ret = (struct phx_sim_re){.agreement = &re->agreement,
				   .cluster = cluster_index(s, re->cluster)};
	PHX_LIST_EACH(struct phx_trace, t, &s->traces) {
		const struct phx_trace_workload *w;
		if (strcmp(t->name, name))
			continue;
		int r = phx_trace_store_get(store, t, &w, err);
		if (r < 0)
			return phx_err_prefix(err, r, "trace %s", name);
		if (*re->jobs && !w->jobs.jobs && w->demand.n)
			return phx_err_set(err, -EINVAL,
					   "%s:%u: RE %s: trace %s is a demand, not jobs", s->file,
					   re->line, re->agreement.name, name);
		if (*re->demand && !w->demand.n)
			return phx_err_set(err, -EINVAL,
					   "%s:%u: RE %s: trace %s holds jobs, not a demand",
					   s->file, re->line, re->agreement.name, name);
		ret->jobs = *re->jobs ? &w->jobs : NULL;
		ret->demand = *re->jobs ? NULL : &w->demand;
	}
	return 0;
}

int phx_sim_scenario_run(const struct phx_sim_scenario *s, struct phx_trace_store *store,
			 const struct phx_sim_watch *watch, struct phx_sim_result *ret,
			 struct phx_err *err)
{
	struct phx_sim_cluster clusters[PHX_SIM_CLUSTERS_MAX];
	struct phx_sim_re res[PHX_SIM_RES_MAX];
	if (s->clusters.n > PHX_SIM_CLUSTERS_MAX)
		return phx_err_set(err, -EINVAL, "%s: at most %d clusters", s->file,
				   PHX_SIM_CLUSTERS_MAX);
	for (uint32_t i = 0; i < s->clusters.n; i++) {
		const struct phx_sim_scenario_cluster *c =
			PHX_LIST_AT(&s->clusters, struct phx_sim_scenario_cluster, i);
		clusters[i] = (struct phx_sim_cluster){
			c->name, {.nodes = c->nodes, .unlimited = c->unlimited}};
	}
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < s->res.n; i++)
		r = load_workload(s, PHX_LIST_AT(&s->res, struct phx_sim_scenario_re, i), store,
				  &res[i], err);
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
