/* Agreements: defaults, every finding, pairs, parameters. */
#include <errno.h>

#include "unit/ledger/cluster.h"

static void note(void *arg, const char *field, const char *text)
{
	char *all = arg;

	snprintf(all + strlen(all), 512 - strlen(all), "%s %s; ", field, text);
}

/* Exactly one finding, on this field, with this in its text. */
static void one_finding(const struct phx_agreement *a, const char *field, const char *part)
{
	char all[512] = "";
	unsigned n = phx_agreement_check(a, note, all);

	if (n != 1 || strncmp(all, field, strlen(field)) || !strstr(all, part))
		fail_msg("%u findings: %s (wanted %s … %s)", n, all, field, part);
	assert_int_equal(phx_agreement_check(a, NULL, NULL), 1);
}

static void defaults_are_sound(void **state)
{
	(void)state;
	for (int model = 0; model < PHX_POLICY_COUNT_; model++)
		for (int type = PHX_RE_BATCH; type < PHX_RE_TYPE_COUNT_; type++) {
			struct phx_agreement a = agreement("x", type, model, 4);
			if (phx_re_kind(&a)->has_jobs &&
			    phx_policy((enum phx_policy_id)model)->per_job_lease)
				a.lower = 0;
			char all[512] = "";
			if (phx_agreement_check(&a, note, all))
				fail_msg("%s: %s", phx_enum_name(&phx_policy_names, model), all);
		}
}

#define WRONG(model_, type_, lower_, field, part, ...) \
	do { \
		struct phx_agreement a = agreement("x", type_, PHX_POLICY_##model_, lower_); \
		__VA_ARGS__; \
		one_finding(&a, field, part); \
	} while (0)

static void names_are_checked(void **state)
{
	(void)state;
	WRONG(fb, PHX_RE_BATCH, 4, "name", "valid", a.name[0] = '\0');
	WRONG(fb, PHX_RE_BATCH, 4, "role", "valid", strcpy(a.role, "../x"));
	WRONG(fb, PHX_RE_BATCH, 4, "image", "valid", strcpy(a.image, "a b"));
	WRONG(fb, PHX_RE_BATCH, 4, "image_version", "without", strcpy(a.image_version, "12"));
	WRONG(fb, PHX_RE_BATCH, 4, "coordinated_RE", "itself", strcpy(a.partner, "x"));
	WRONG(fb, PHX_RE_BATCH, 4, "start_ahead", "with nobody", a.start_ahead = true;
	      a.coordination = PHX_RE_COORDINATED_NONE);
	WRONG(fb, PHX_RE_BATCH, 4, "coordinated_RE", "not to be", strcpy(a.partner, "y");
	      a.coordination = PHX_RE_COORDINATED_NONE);
}

/* Who is named, by himself or by a group, and nobody else; who says nothing has its owner alone. */
static void members_are_named(void **state)
{
	struct phx_agreement named = agreement("x", PHX_RE_BATCH, PHX_POLICY_fb, 4);
	(void)state;
	strcpy(named.owner, "ann");
	assert_true(phx_agreement_has_member(&named, "ann", ""));
	assert_false(phx_agreement_has_member(&named, "bob", ""));
	assert_false(phx_agreement_has_member(&named, "bob", "ann"));
	strcpy(named.users, " bobby, bo,rob");
	assert_false(phx_agreement_has_member(&named, "bob", ""));
	assert_true(phx_agreement_has_member(&named, "bo", ""));
	assert_true(phx_agreement_has_member(&named, "rob", "staff"));
	strcpy(named.groups, "staff physics");
	assert_true(phx_agreement_has_member(&named, "bob", "physics"));
	assert_false(phx_agreement_has_member(&named, "bob", "phys"));
	assert_false(phx_agreement_has_member(&named, "bob", ""));
	assert_int_equal(phx_agreement_check(&named, NULL, NULL), 0);
	strcpy(named.users, "*");
	assert_true(phx_agreement_has_member(&named, "zoe", ""));
	assert_false(phx_agreement_has_member(&named, "", "physics"));
	assert_int_equal(phx_agreement_check(&named, NULL, NULL), 0);
	WRONG(fb, PHX_RE_BATCH, 4, "users", "names", strcpy(a.users, "ann unix:"));
	WRONG(fb, PHX_RE_BATCH, 4, "users", "names", strcpy(a.users, "node:n1"));
	WRONG(fb, PHX_RE_BATCH, 4, "owner", "nobody", strcpy(a.owner, "group:staff"));
	WRONG(fb, PHX_RE_BATCH, 4, "owner", "nobody", strcpy(a.owner, "node:n1"));
	WRONG(fb, PHX_RE_BATCH, 4, "users", "names", strcpy(a.users, " , "));
	WRONG(fb, PHX_RE_BATCH, 4, "groups", "everybody", strcpy(a.groups, "staff *"));
	named.owner[0] = named.users[0] = '\0';
	assert_false(phx_agreement_has_member(&named, "", ""));
}

/* A user and a certificate of one name are two; a name without a kind is a user. */
static void kinds_are_not_compared(void **state)
{
	struct phx_agreement a = agreement("x", PHX_RE_BATCH, PHX_POLICY_fb, 4);
	(void)state;
	strcpy(a.owner, "cert:ann");
	strcpy(a.users, "unix:bob cert:eve rob");
	assert_false(phx_agreement_is_of_user(&a, "ann"));
	assert_false(phx_agreement_has_member(&a, "ann", ""));
	assert_true(phx_agreement_names(&a, "cert:ann"));
	assert_false(phx_agreement_names(&a, "unix:ann"));
	assert_false(phx_agreement_names(&a, "ann"));
	assert_true(phx_agreement_has_member(&a, "bob", ""));
	assert_false(phx_agreement_names(&a, "cert:bob"));
	assert_true(phx_agreement_names(&a, "cert:eve"));
	assert_false(phx_agreement_has_member(&a, "eve", ""));
	assert_true(phx_agreement_has_member(&a, "rob", ""));
	assert_false(phx_agreement_names(&a, "cert:rob"));
	assert_false(phx_agreement_names(&a, "rob"));
	assert_false(phx_agreement_names(&a, ""));
	/* that it means all users of the head says nothing of certificates */
	strcpy(a.users, "*");
	assert_false(phx_agreement_names(&a, "cert:eve"));
	strcpy(a.owner, "unix:ann");
	assert_true(phx_agreement_is_of_user(&a, "ann"));
	assert_false(phx_agreement_names(&a, "cert:ann"));
	assert_int_equal(phx_agreement_check(&a, NULL, NULL), 0);
}

static void engine_is_checked(void **state)
{
	struct phx_agreement good = agreement("x", PHX_RE_BATCH, PHX_POLICY_fb, 4);
	(void)state;
	good.engine = PHX_RE_ENGINE_SLURM;
	assert_int_equal(phx_agreement_check(&good, NULL, NULL), 0);
	strcpy(good.slurm_conf, "/etc/slurm/queue.conf");
	assert_int_equal(phx_agreement_check(&good, NULL, NULL), 0);
	WRONG(fb, PHX_RE_BATCH, 4, "engine", "table", a.engine = 2);
	WRONG(fb, PHX_RE_BATCH, 4, "slurm_conf", "for engine slurm", strcpy(a.slurm_conf, "/x"));
	WRONG(fb, PHX_RE_BATCH, 4, "slurm_conf", "name of a Slurm", a.engine = 1;
	      strcpy(a.slurm_conf, "x y"));
	WRONG(fb, PHX_RE_BATCH, 4, "slurm_conf", "name of a Slurm", a.engine = 1;
	      strcpy(a.slurm_conf, "/a/../b"));
	WRONG(fb, PHX_RE_BATCH, 4, "slurm_conf", "name of a Slurm", a.engine = 1;
	      strcpy(a.slurm_conf, "/a b"));
	WRONG(fb, PHX_RE_WEB, 4, "engine", "not for a web", a.engine = 1);
	WRONG(fb, PHX_RE_BATCH, 4, "scheduler", "Slurm's", a.engine = 1;
	      a.scheduler = PHX_SCHEDULER_easy);
	WRONG(fb, PHX_RE_BATCH, 4, "kill_grace", "Slurm's", a.engine = 1; a.kill_grace_s = 9);
	WRONG(ec2_rightscale, PHX_RE_BATCH, 0, "engine", "builtin", a.engine = 1);
}

/* what a journal of before holds stays an agreement; asked for now it is none */
static void slurm_is_named(void **state)
{
	static const struct {
		const char *one, *other;
		bool same;
	} rows[] = {
		{"", "", true},
		{"queue", "queue", true},
		{"queue", "night", false},
		{"", "queue", false},
		{"/srv/queue.conf", "queue", true},
		{"queue", "/srv/queue.conf", true},
		{"/srv/queue2.conf", "queue", false},
		{"/srv/queue", "queue", false},
		{"/srv/queue.conf", "/srv/queue.conf", true},
		{"/srv/queue.conf", "/home/queue.conf", false},
		{"", PHX_SLURM_CONF_DEFAULT, true},
	};
	struct phx_agreement a = agreement("x", PHX_RE_BATCH, PHX_POLICY_fb, 4), b = a;
	(void)state;
	a.engine = b.engine = PHX_RE_ENGINE_SLURM;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		strcpy(a.slurm_conf, rows[i].one);
		strcpy(b.slurm_conf, rows[i].other);
		assert_int_equal(phx_agreement_check(&a, NULL, NULL), 0);
		assert_int_equal(phx_agreement_check_new(&a, NULL, NULL),
				 strchr(rows[i].one, '/') ? 1 : 0);
		assert_int_equal(phx_agreement_same_slurm(&a, &b), rows[i].same);
	}
}

static void one_upper_bound(void **state)
{
	struct phx_agreement a = agreement("x", PHX_RE_BATCH, PHX_POLICY_fb, 4);
	(void)state;
	a.upper = 0;
	assert_int_equal(phx_agreement_upper(&a), 4); /* the same as the lower one */
	a.model = PHX_POLICY_dcs;
	assert_int_equal(phx_agreement_upper(&a), 4);
	a.model = PHX_POLICY_dr;
	assert_int_equal(phx_agreement_upper(&a), 0);
	a.upper = 9;
	assert_int_equal(phx_agreement_upper(&a), 9);
}

static void values_are_checked(void **state)
{
	(void)state;
	WRONG(fb, PHX_RE_BATCH, 4, "type", "table", a.type = PHX_RE_TYPE_COUNT_);
	WRONG(fb, PHX_RE_BATCH, 4, "resource_coordination_model", "table",
	      a.model = PHX_POLICY_COUNT_);
	WRONG(fb, PHX_RE_BATCH, 4, "resource_coordination_model", "table", a.model = -1);
	WRONG(fb, PHX_RE_BATCH, 4, "kill_order", "table", a.kill_order = 99);
	WRONG(fb, PHX_RE_BATCH, 4, "scheduler", "table", a.scheduler = -1);
	WRONG(fb, PHX_RE_BATCH, 4, "setup_policy", "table", a.setup.method = 99);
	WRONG(fb, PHX_RE_BATCH, 4, "coordinated_RE", "table", a.coordination = 3);
	WRONG(fb, PHX_RE_BATCH, 4, "setup_method", "noop", a.setup.method = PHX_WIPE_CRYPTO);
	WRONG(fb, PHX_RE_BATCH, 4, "setup_moment", "noop", a.setup.when = PHX_WHEN_ASSIGN);
}

static void bounds_are_checked(void **state)
{
	(void)state;
	WRONG(dr, PHX_RE_BATCH, 4, "upper_bound_size", "less than", a.upper = 3);
	WRONG(fb, PHX_RE_BATCH, 4, "upper_bound_size", "the same", a.upper = 5);
	WRONG(dcs, PHX_RE_BATCH, 4, "upper_bound_size", "the same", a.upper = 5);
	WRONG(flb_nub, PHX_RE_WEB, 4, "upper_bound_size", "none", a.upper = 5);
	WRONG(dcs, PHX_RE_WEB, 0, "lower_bound_size", "at least 1", (void)0);
	WRONG(deelman, PHX_RE_BATCH, 1, "lower_bound_size", "must be 0", (void)0);
	WRONG(fb, PHX_RE_BATCH, 4, "replace_after", "366", a.replace_after_s = 367 * 86400);
	WRONG(fb, PHX_RE_BATCH, 4, "needs_check", "366", a.needs_check_s = 367 * 86400);
}

/* Two, as far as the bounds let it; and what is asked for is possible. */
static void instances_to_begin_with(void **state)
{
	static const struct {
		int type, model, coordination;
		uint32_t lower, upper, initial;
	} rows[] = {
		{PHX_RE_WEB, PHX_POLICY_flb_nub, PHX_RE_COORDINATED_NONE, 1, 0, 2},
		{PHX_RE_WEB, PHX_POLICY_dr, PHX_RE_COORDINATED_NONE, 1, 1, 1},
		{PHX_RE_WEB, PHX_POLICY_dr, PHX_RE_COORDINATED_NONE, 1, 9, 2},
		{PHX_RE_WEB, PHX_POLICY_fb, PHX_RE_COORDINATED_OTHER, 1, 1, 2},
		{PHX_RE_WEB, PHX_POLICY_fb, PHX_RE_COORDINATED_NONE, 1, 0, 1},
		{PHX_RE_WEB, PHX_POLICY_dcs, PHX_RE_COORDINATED_OTHER, 1, 0, 1},
		{PHX_RE_WEB, PHX_POLICY_dcs, PHX_RE_COORDINATED_OTHER, 4, 0, 2},
		{PHX_RE_BATCH, PHX_POLICY_fb, PHX_RE_COORDINATED_OTHER, 4, 0, 0},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_agreement a = agreement("x", rows[i].type, rows[i].model, rows[i].lower);
		a.upper = rows[i].upper;
		a.coordination = rows[i].coordination;
		assert_int_equal(phx_agreement_initial(&a), rows[i].initial);
	}
	WRONG(dr, PHX_RE_WEB, 1, "initial_instances", "upper_bound_size", a.upper = 4;
	      a.initial = 5);
	WRONG(dcs, PHX_RE_WEB, 3, "initial_instances", "never come later", a.initial = 4);
	WRONG(fb, PHX_RE_BATCH, 3, "initial_instances", "web service", a.initial = 2);
}

static void parameters_are_checked(void **state)
{
	(void)state;
	WRONG(flb_nub, PHX_RE_BATCH, 4, "lease", "at least", a.lease_s = 0);
	WRONG(fb, PHX_RE_BATCH, 4, "lease", "366", a.lease_s = 367 * 86400);
	WRONG(coop2008, PHX_RE_BATCH, 4, "lease", "not used", a.lease_s = 60);
	WRONG(dr, PHX_RE_BATCH, 4, "cycle", "1 s", a.cycle_s = 0);
	WRONG(fb, PHX_RE_BATCH, 4, "cycle", "not used", a.cycle_s = 1);
	WRONG(dr, PHX_RE_BATCH, 4, "request_threshold", "not used", a.u_milli = 1300);
	WRONG(dr, PHX_RE_BATCH, 4, "release_threshold", "not used", a.v_milli = 300);
	WRONG(flb_nub, PHX_RE_BATCH, 4, "release_threshold", "above", a.v_milli = 1201);
	WRONG(flb_nub, PHX_RE_BATCH, 4, "elastic_factor", "more than 0", a.g_milli = 0);
	WRONG(flb_nub, PHX_RE_BATCH, 4, "elastic_factor", "less than 1", a.g_milli = 1000);
	WRONG(fb, PHX_RE_BATCH, 4, "elastic_factor", "not used", a.g_milli = 400);
	WRONG(fb, PHX_RE_BATCH, 4, "obtain_threshold", "not used", a.r_milli = 8000);
	WRONG(fb, PHX_RE_BATCH, 4, "release_own", "not used", a.release_own = true);
	WRONG(dr, PHX_RE_BATCH, 4, "return_full", "not used", a.return_full = true);
}

static void types_are_checked(void **state)
{
	(void)state;
	WRONG(fb, PHX_RE_WEB, 4, "scheduler", "batch", a.scheduler = PHX_SCHEDULER_fcfs);
	WRONG(fb, PHX_RE_WEB, 4, "kill_order", "batch", a.kill_order = PHX_KILL_ORDER_largest);
	WRONG(fb, PHX_RE_WEB, 4, "no_requeue", "batch", a.no_requeue = true);
	WRONG(fb, PHX_RE_WEB, 4, "keep_jobs", "batch", a.keep_jobs = true);
	WRONG(fb, PHX_RE_BATCH, 4, "keep_jobs", "stays there", a.engine = PHX_RE_ENGINE_SLURM;
	      a.keep_jobs = true);
	WRONG(fb, PHX_RE_WEB, 4, "kill_grace", "batch", a.kill_grace_s = 60);
	WRONG(fb, PHX_RE_BATCH, 4, "kill_grace", "1 h", a.kill_grace_s = 3601);
	WRONG(fb, PHX_RE_WEB, 4, "window", "1 s", a.window_s = 0);
	WRONG(fb, PHX_RE_WEB, 4, "threshold", "less than 1", a.threshold_milli = 1000);
	WRONG(fb, PHX_RE_WEB, 4, "address", "IPv4", PHX_STR_SET(a.address, "10.0.0.256"));
	WRONG(fb, PHX_RE_WEB, 4, "port", "without an address", a.port = 80);
	WRONG(fb, PHX_RE_WEB, 4, "port", "65535",
	      (PHX_STR_SET(a.address, "10.0.0.1"), a.port = 65536));
	WRONG(fb, PHX_RE_BATCH, 4, "address", "web", PHX_STR_SET(a.address, "10.0.0.1"));
	WRONG(fb, PHX_RE_BATCH, 4, "port", "web", a.port = 80);
	WRONG(fb, PHX_RE_BATCH, 4, "window", "web", a.window_s = 10);
	WRONG(fb, PHX_RE_BATCH, 4, "threshold", "web", a.threshold_milli = 700);
}

static void extensions_are_kept(void **state)
{
	struct phx_agreement a = agreement("x", PHX_RE_BATCH, PHX_POLICY_fb, 4), copy;
	struct phx_re_extension *e = phx_list_push(&a.extensions, sizeof(*e));
	(void)state;
	assert_non_null(e);
	PHX_STR_SET(e->key, "contact");
	PHX_STR_SET(e->value, "a person");
	assert_int_equal(phx_agreement_check(&a, NULL, NULL), 0);
	assert_int_equal(phx_record_copy(&phx_agreement_record, &copy, &a), 0);
	assert_true(phx_record_equal(&phx_agreement_record, &copy, &a));
	e->key[0] = '!';
	one_finding(&a, "extensions", "key");
	phx_record_fini(&phx_agreement_record, &a);
	phx_record_fini(&phx_agreement_record, &copy);
}

static void not_a_pair(const struct phx_agreement *b, const struct phx_agreement *w,
		       const char *part)
{
	struct phx_err err = {0};

	assert_int_equal(phx_agreement_check_pair(b, w, &err), -EINVAL);
	if (!strstr(err.text, part))
		fail_msg("%s (wanted … %s)", err.text, part);
}

static void pairs_are_checked(void **state)
{
	struct phx_agreement b = agreement("b", PHX_RE_BATCH, PHX_POLICY_fb, 4);
	struct phx_agreement w = agreement("w", PHX_RE_WEB, PHX_POLICY_fb, 4);
	(void)state;
	assert_int_equal(phx_agreement_check_pair(&b, &w, NULL), 0);
	assert_int_equal(phx_agreement_check_pair(&w, &b, NULL), 0);
	not_a_pair(&w, &w, "one RE for batch jobs");
	not_a_pair(&b, &b, "one RE for batch jobs");
	strcpy(b.partner, "w");
	strcpy(w.partner, "b");
	assert_int_equal(phx_agreement_check_pair(&b, &w, NULL), 0);
	strcpy(w.partner, "c");
	not_a_pair(&b, &w, "names c");
	w.partner[0] = '\0';
	w.coordination = PHX_RE_COORDINATED_NONE;
	not_a_pair(&b, &w, "w is not to be coordinated");
	w.coordination = PHX_RE_COORDINATED_OWN;
	strcpy(w.owner, "web-people");
	not_a_pair(&b, &w, "web-people only");
	strcpy(b.owner, "web-people");
	assert_int_equal(phx_agreement_check_pair(&b, &w, NULL), 0);
	w.model = PHX_POLICY_flb_nub;
	not_a_pair(&b, &w, "b is fb, that of w is flb-nub");
}

static void unused_parameters_are_none(void **state)
{
	struct phx_agreement a = agreement("x", PHX_RE_BATCH, PHX_POLICY_fb, 4);
	struct phx_policy_params p = phx_agreement_params(&a);
	(void)state;
	assert_int_equal(p.lease_ms, 3600000);
	assert_int_equal(p.cycle_ms, 0); /* by events */
	a.model = PHX_POLICY_dr;
	a.release_own = true;
	p = phx_agreement_params(&a);
	assert_int_equal(p.cycle_ms, 60000);
	assert_int_equal(p.lease_ms, 3600000);
	assert_int_equal(p.r_milli, 1500);
	assert_false(p.release_pool);
	a.model = PHX_POLICY_coop2008;
	p = phx_agreement_params(&a);
	assert_int_equal(p.lease_ms, 0);
	assert_int_equal(p.cycle_ms, 0);
	a.model = PHX_POLICY_evangelinos;
	assert_int_equal(phx_agreement_params(&a).cycle_ms, 60000);
	a.model = PHX_POLICY_dcs;
	assert_int_equal(phx_agreement_params(&a).cycle_ms, 0);
}

/* The keys of every row are keys of agreements. An RE has either jobs or a demand: the ledger knows
 * nothing else. */
static void rows_of_kinds_are_sound(void **state)
{
	(void)state;
	for (int i = 0; i < PHX_RE_TYPE_COUNT_; i++) {
		const struct phx_re_kind *kind = phx_re_kinds[i];
		for (const char *const *key = kind->keys; *key; key++)
			if (!phx_key_find(&phx_agreement_record, *key))
				fail_msg("%s: agreements have no key %s", kind->text, *key);
		assert_true(kind->has_jobs != kind->has_demand);
		assert_int_not_equal(kind->side, PHX_PLACE_FREE);
		for (size_t k = 0; k < PHX_ARRAY_SIZE(kind->roles); k++)
			assert_non_null(kind->roles[k]);
	}
}

/* A stranger's nodes never change hands as they are, whatever is asked for; others may agree on it.
 */
static void strangers_are_kept_apart(void **state)
{
	static const struct {
		int relationship;
		bool one_person, apart;
	} rows[] = {{PHX_RE_SAME, true, false},
		    {PHX_RE_AFFILIATED, false, false},
		    {PHX_RE_BUSINESS, false, true}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_agreement a = agreement("x", PHX_RE_BATCH, PHX_POLICY_fb, 4);
		a.relationship = rows[i].relationship;
		a.setup.method = PHX_WIPE_AUTO;
		a.setup.verify = PHX_VERIFY_FULL;
		a.setup.start = PHX_SETUP_START_KEXEC;
		a.noop_between_owners = true;
		assert_int_equal(phx_agreement_one_person(&a), rows[i].one_person);
		assert_int_equal(phx_agreement_settle(&a), rows[i].apart);
		assert_int_equal(a.noop_between_owners, !rows[i].apart);
		assert_int_equal(a.setup.mode == PHX_SETUP_WIPE, rows[i].apart);
		assert_int_equal(a.setup.when == PHX_WHEN_BOTH, rows[i].apart);
		assert_int_equal(a.setup.start == PHX_SETUP_START_POWER, rows[i].apart);
		assert_int_equal(a.setup.verify, PHX_VERIFY_FULL);
		assert_false(phx_agreement_settle(&a)); /* twice is once */
		assert_int_equal(phx_agreement_check_new(&a, NULL, NULL), 0);
		/* each of them alone is a change that is told */
		a.noop_between_owners = true;
		assert_int_equal(phx_agreement_settle(&a), rows[i].apart);
		a.setup.when = PHX_WHEN_RELEASE;
		assert_int_equal(phx_agreement_settle(&a), rows[i].apart);
	}
}

/* Names of images begin with the type and the version of what they are. */
static void images_are_of_systems(void **state)
{
	static const struct {
		const char *system, *image;
		bool is;
	} rows[] = {{"debian 12", "debian-12", true},     {"debian 12", "debian-12-gpu", true},
		    {"debian", "debian-12", true},        {"debian", "debian", true},
		    {"debian 1", "debian-12", false},     {"debian 12", "debian-1", false},
		    {"debian 12", "debian", false},       {"rocky 9", "debian-12", false},
		    {"debian", "debianoid", false},       {"", "anything", true},
		    {"debian 12 gpu", "debian-12", false}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (phx_agreement_is_system(rows[i].system, rows[i].image) != rows[i].is)
			fail_msg("'%s' and %s", rows[i].system, rows[i].image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_kinds_are_sound),
		cmocka_unit_test(defaults_are_sound),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(members_are_named),
		cmocka_unit_test(kinds_are_not_compared),
		cmocka_unit_test(engine_is_checked),
		cmocka_unit_test(slurm_is_named),
		cmocka_unit_test(one_upper_bound),
		cmocka_unit_test(values_are_checked),
		cmocka_unit_test(bounds_are_checked),
		cmocka_unit_test(instances_to_begin_with),
		cmocka_unit_test(parameters_are_checked),
		cmocka_unit_test(types_are_checked),
		cmocka_unit_test(extensions_are_kept),
		cmocka_unit_test(pairs_are_checked),
		cmocka_unit_test(unused_parameters_are_none),
		cmocka_unit_test(images_are_of_systems),
		cmocka_unit_test(strangers_are_kept_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
