/* RE agreements: defaults, findings, parameters. Called by lib/config when an
 * agreement is read, by the ledger when its RE becomes active, by the core for the
 * API. Pure. */
#include "types/agreement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "batch/batch.h"
#include "types/agreement_findings.h"

#define LEASE_S_MAX (366u * 86400u)
#define SEPARATORS " ,"

static const char *const coordinations[] = {"none", "own", "other"};
const struct phx_enum phx_re_coordination_names = {"coordination", coordinations,
						   PHX_ARRAY_SIZE(coordinations)};

static const char *const engines[] = {"builtin", "slurm"};
const struct phx_enum phx_re_engine_names = {"engine", engines, PHX_ARRAY_SIZE(engines)};

PHX_RECORD_TABLE(phx_re_extension, PHX_RE_EXTENSION_FIELDS);
PHX_RECORD_TABLE(phx_agreement, PHX_AGREEMENT_FIELDS);

void phx_agreement_init(struct phx_agreement *a)
{
	*a = (struct phx_agreement){0};
	phx_key_defaults(&phx_agreement_record, a, NULL); /* cannot fail: the table is tested */
}

bool phx_agreement_lists(const char *list, const char *name)
{
	return phx_words_have(list, "*") || phx_words_have(list, name);
}

bool phx_agreement_is_of_user(const struct phx_agreement *a, const char *user)
{
	return user[0] &&
		(!strcmp(user, a->owner) || phx_identity_is(a->owner, PHX_IDENTITY_UNIX, user));
}

bool phx_agreement_has_member(const struct phx_agreement *a, const char *user, const char *group)
{
	char typed[PHX_IDENTITY_MAX];
	phx_identity_format(PHX_IDENTITY_UNIX, user, typed);
	bool named = phx_agreement_is_of_user(a, user) || phx_agreement_lists(a->users, user) ||
		phx_words_have(a->users, typed);
	return user[0] && (named || (group[0] && phx_agreement_lists(a->groups, group)));
}

bool phx_agreement_names(const struct phx_agreement *a, const char *identity)
{
	return phx_identity_is_typed(identity) &&
		(!strcmp(identity, a->owner) || phx_words_have(a->users, identity));
}

bool phx_agreement_is_system(const char *operating_system, const char *image)
{
	if (!operating_system[0])
		return true;
	for (; *operating_system; operating_system++, image++)
		if (*image != (*operating_system == ' ' ? '-' : *operating_system))
			return false;
	return !*image || *image == '-';
}

uint32_t phx_agreement_port(const struct phx_agreement *a)
{
	enum { HTTP = 80 };
	return a->port ? a->port : HTTP;
}

uint32_t phx_agreement_least(const struct phx_agreement *a)
{
	return a->lower ? a->lower : 1;
}

uint32_t phx_agreement_begins(const struct phx_agreement *a)
{
	uint32_t least = phx_agreement_least(a);
	return a->initial > least ? a->initial : least;
}

/* The paper begins with two instances (000 6.4): so does an agreement, unless it allows only
 * one. */
uint32_t phx_agreement_initial(const struct phx_agreement *a)
{
	enum { OF_PAPER = 2 };
	const struct phx_policy *policy = phx_policy((enum phx_policy_id)a->model);
	bool pairs =
		policy->same_bounds && !policy->fixed && a->coordination != PHX_RE_COORDINATED_NONE;
	uint32_t most = pairs ? 0 : phx_agreement_upper(a);
	if (!phx_re_kind(a)->has_demand)
		return 0;
	return most && most < OF_PAPER ? most : OF_PAPER;
}

int phx_agreement_model(const struct phx_agreement *a)
{
	return (int)phx_re_kind(a)->model;
}

uint32_t phx_agreement_cycle(const struct phx_agreement *a)
{
	const struct phx_policy *policy = phx_policy((enum phx_policy_id)a->model);
	const struct phx_re_kind *kind =
		strchr(policy->params, 'S') ? phx_re_kind(a) : phx_re_kinds[0];
	return kind->cycle_s;
}

uint32_t phx_agreement_upper(const struct phx_agreement *a)
{
	return phx_policy((enum phx_policy_id)a->model)->same_bounds ? a->lower : a->upper;
}

/* ---- findings ---- */

static bool uses(const struct phx_policy *policy, const char *letters)
{
	return policy && strpbrk(policy->params, letters);
}

/* Both formats of agreement files must be able to hold the key; the value is one printable line. */
static bool extension_fits(const struct phx_re_extension *e)
{
	bool fits =
		(e->key[0] >= 'a' && e->key[0] <= 'z') || (e->key[0] >= 'A' && e->key[0] <= 'Z');

	for (const char *p = e->value; *p; p++)
		fits = fits && (unsigned char)*p >= 0x20 && *p != 0x7f &&
			strncmp(p, "\xef\xbf\xbe", 3) && strncmp(p, "\xef\xbf\xbf", 3);
	return fits && phx_name_valid(e->key) && !strchr(e->key, '.');
}

/* A list of account names, which have their own rules: none contains a blank, comma or colon. */
static bool names_fit(const char *list)
{
	for (const char *p = list; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f || strchr(":/\"'", *p))
			return false;
	return !list[0] || list[strspn(list, SEPARATORS)];
}

/* The same for users, who may be written with their kinds. */
static bool members_fit(const char *list)
{
	char word[PHX_IDENTITY_MAX + 1];
	bool any = false;
	for (const char *at = list; phx_words_next(&at, word, sizeof(word)); any = true) {
		struct phx_identity is = {.kind = PHX_IDENTITY_KINDS};
		bool typed = strchr(word, ':');
		if (typed ? phx_identity_parse(word, &is, NULL) < 0 : !names_fit(word))
			return false;
		if (is.kind == PHX_IDENTITY_NODE)
			return false;
	}
	return !list[0] || any;
}

/* "debian", "debian 12": words as they occur in names of images. */
static bool system_fits(const char *text)
{
	for (size_t n; *text; text += n + (text[n] == ' '))
		if (!(n = strcspn(text, " ")) ||
		    strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") < n ||
		    (text[n] && !text[n + 1]))
			return false;
	return true;
}

/* Anybody but a node may own an RE. */
static bool owner_fits(const char *owner)
{
	struct phx_identity is;
	return phx_identity_parse(owner, &is, NULL) == 0 && is.kind != PHX_IDENTITY_NODE;
}

static void check_names(struct phx_agreement_findings *f)
{
	const struct phx_agreement *a = f->a;

	wrong_if(f, !phx_name_valid(a->name), "name", "is no valid name");
	wrong_if(f, a->owner[0] && !owner_fits(a->owner), "owner",
		 "is nobody: unix:NAME is a user of the head, cert:NAME a certificate");
	wrong_if(f, !members_fit(a->users), "users",
		 "must be names with blanks between them (unix:NAME is a user of the head, "
		 "cert:NAME "
		 "a certificate), or *");
	wrong_if(f, !names_fit(a->groups) || phx_agreement_lists(a->groups, ""), "groups",
		 "must be names with blanks between them; users = \"*\" means everybody");
	wrong_if(f, a->role[0] && !phx_name_valid(a->role), "role", "is no valid name");
	wrong_if(f, !system_fits(a->operating_system), "operating_system",
		 "must be its type and maybe its version, in small letters: \"debian 12\"");
	wrong_if(f,
		 a->image[0] && a->operating_system[0] &&
			 !phx_agreement_is_system(a->operating_system, a->image),
		 "image", "is not of the operating_system that is asked for");
	wrong_if(f, a->image[0] && !phx_name_valid(a->image), "image", "is no valid name");
	wrong_if(f, !a->image[0] && a->image_version[0], "image_version",
		 "is given without an image");
	wrong_if(f, a->partner[0] && !phx_name_valid(a->partner), "coordinated_RE",
		 "names no valid partner");
	wrong_if(f, a->partner[0] && !strcmp(a->partner, a->name), "coordinated_RE",
		 "names the RE itself");
	wrong_if(f, a->partner[0] && a->coordination == PHX_RE_COORDINATED_NONE, "coordinated_RE",
		 "names a partner, but the RE is not to be coordinated");
	wrong_if(f, a->start_ahead && a->coordination == PHX_RE_COORDINATED_NONE, "start_ahead",
		 "has no effect: the RE shares its nodes with nobody");
	PHX_LIST_EACH(struct phx_re_extension, e, &a->extensions)
		wrong_if(f, !extension_fits(e), "extensions",
			 "has a key that is not a letter and letters, digits, '-', '_' behind it, "
			 "or a value that is not "
			 "printable");
}

static void check_range(struct phx_agreement_findings *f, const char *field,
			const struct phx_enum *names, int value)
{
	wrong_if(f, value < 0 || value >= names->n_names, field,
		 "has a value that is not in its table");
}

static void check_enums(struct phx_agreement_findings *f)
{
	const struct phx_agreement *a = f->a;

	check_range(f, "relationship", &phx_re_relationship_names, a->relationship);
	check_range(f, "type", &phx_re_type_names, a->type);
	check_range(f, "coordinated_RE", &phx_re_coordination_names, a->coordination);
	check_range(f, "resource_coordination_model", &phx_policy_names, a->model);
	check_range(f, "engine", &phx_re_engine_names, a->engine);
	check_range(f, "scheduler", &phx_scheduler_names, a->scheduler);
	check_range(f, "kill_order", &phx_kill_order_names, a->kill_order);
	check_range(f, "setup_policy", &phx_setup_mode_names, a->setup.mode);
	check_range(f, "setup_policy", &phx_wipe_method_names, a->setup.method);
	check_range(f, "setup_policy", &phx_setup_when_names, a->setup.when);
}

static void check_bounds(struct phx_agreement_findings *f)
{
	const struct phx_agreement *a = f->a;
	bool same = f->policy && f->policy->same_bounds;

	wrong_if(f, a->upper && a->upper < a->lower, "upper_bound_size",
		 "is less than lower_bound_size");
	wrong_if(f, same && a->upper > a->lower, "upper_bound_size",
		 "must be lower_bound_size or none: under this model both bounds are the same");
	wrong_if(f, f->policy && f->policy->no_upper && a->upper, "upper_bound_size",
		 "must be none: FLB_NUB has no upper bound");
	wrong_if(f, f->policy && f->policy->fixed && !a->lower, "lower_bound_size",
		 "must be at least 1: under this model nodes never come later");
	wrong_if(f, f->policy && f->policy->per_job_lease && phx_re_kind(a)->has_jobs && a->lower,
		 "lower_bound_size", "must be 0: under this model jobs lease their own nodes");
	wrong_if(f, a->replace_after_s > LEASE_S_MAX, "replace_after", "is longer than 366 days");
	wrong_if(f, a->needs_check_s > LEASE_S_MAX, "needs_check", "is longer than 366 days");
}

/* An agreement that names an erase method expects disks to be erased; one that names a moment
 * expects something to be done. */
static void check_setup(struct phx_agreement_findings *f)
{
	static const struct phx_setup none = {0};
	const struct phx_setup *s = &f->a->setup;
	bool noop = phx_setup_covers(&none, s), keeps = !phx_setup_does(s, PHX_SETUP_SCRATCH);
	char unused[64];

	snprintf(unused, sizeof(unused), "has no effect: setup_policy is %s",
		 phx_enum_name(&phx_setup_mode_names, s->mode));
	wrong_if(f, keeps && s->method > PHX_WIPE_AUTO && s->method <= PHX_WIPE_SECURE_ERASE,
		 "setup_method", unused);
	wrong_if(f, noop && (s->when == PHX_WHEN_ASSIGN || s->when == PHX_WHEN_BOTH),
		 "setup_moment", unused);
}

/* A parameter that the model uses must be in range; any other must have its default. */
static void check_params(struct phx_agreement_findings *f)
{
	static const char unused[] = "is not used by this model";
	const struct phx_agreement *a = f->a, *def = f->def;
	bool lease = uses(f->policy, "LC"), cycle = uses(f->policy, "S"), dr = uses(f->policy, "R");

	wrong_if(f, lease && a->lease_s > LEASE_S_MAX, "lease", "is longer than 366 days");
	wrong_if(f, lease && !a->lease_s && !f->policy->lease_optional, "lease",
		 "must be at least 1 s");
	wrong_if(f, !lease && a->lease_s != def->lease_s, "lease", unused);
	wrong_if(f, cycle && (!a->cycle_s || a->cycle_s > 86400), "cycle", "must be 1 s to 1 day");
	wrong_if(f, !cycle && a->cycle_s != def->cycle_s, "cycle", unused);
	wrong_if(f, !uses(f->policy, "U") && a->u_milli != def->u_milli, "request_threshold",
		 unused);
	wrong_if(f, !uses(f->policy, "V") && a->v_milli != def->v_milli, "release_threshold",
		 unused);
	wrong_if(f, uses(f->policy, "V") && a->v_milli > a->u_milli, "release_threshold",
		 "is above request_threshold");
	wrong_if(f, !uses(f->policy, "G") && a->g_milli != def->g_milli, "elastic_factor", unused);
	wrong_if(f, uses(f->policy, "G") && (!a->g_milli || a->g_milli >= 1000), "elastic_factor",
		 "must be more than 0 and less than 1");
	wrong_if(f, !dr && a->r_milli != def->r_milli, "obtain_threshold", unused);
	wrong_if(f, !dr && (a->release_own || a->obtain_by_idle), "release_own", unused);
	wrong_if(f, a->return_full && !f->policy->shares_cluster, "return_full", unused);
}

/* Is the path absolute and printable, without a space and without "/../"? */
static bool path_fits(const char *path)
{
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f)
			return false;
	return path[0] == '/' && !strstr(path, "/../");
}

static void check_slurm(struct phx_agreement_findings *f)
{
	const struct phx_agreement *a = f->a;
	bool slurm = a->engine == PHX_RE_ENGINE_SLURM;

	wrong_if(f, a->slurm_conf[0] && !slurm, "slurm_conf", "is for engine slurm");
	wrong_if(f, a->slurm_conf[0] && !phx_name_valid(a->slurm_conf) && !path_fits(a->slurm_conf),
		 "slurm_conf", "must be the name of a Slurm that the resource provider has set up");
	wrong_if(f, slurm && f->policy && f->policy->per_job_lease, "engine",
		 "must be builtin: under this model each job leases its own nodes");
}

static bool is_default(const struct phx_agreement_findings *f, const char *key)
{
	const struct phx_record one = {.size = phx_agreement_record.size,
				       .fields = phx_key_find(&phx_agreement_record, key),
				       .n_fields = 1};

	return phx_record_equal(&one, f->a, f->def);
}

/* The first kind that lists the key: findings name that kind. */
static const struct phx_re_kind *kind_of_key(const char *key)
{
	int i = 0;

	while (!phx_re_kind_has_key(phx_re_kinds[i], key))
		i++;
	return phx_re_kinds[i];
}

/* Keys that the agreement's kind does not have must be at their defaults. */
static void check_keys(struct phx_agreement_findings *f)
{
	const struct phx_re_kind *kind = phx_re_kind(f->a);
	char text[128];

	for (int i = 0; i < PHX_RE_TYPE_COUNT_; i++)
		for (const char *const *key = phx_re_kinds[i]->keys; *key; key++) {
			if (phx_re_kind_has_key(kind, *key) ||
			    kind_of_key(*key) != phx_re_kinds[i] || is_default(f, *key))
				continue;
			snprintf(text, sizeof(text), "is for %s, not for %s", phx_re_kinds[i]->text,
				 kind->text);
			wrong_if(f, true, *key, text);
		}
}

unsigned phx_agreement_check(const struct phx_agreement *a, phx_agreement_found_fn found, void *arg)
{
	struct phx_agreement def;
	struct phx_agreement_findings f = {.a = a, .def = &def, .found = found, .arg = arg};

	phx_agreement_init(&def);
	if (a->model >= 0 && a->model < PHX_POLICY_COUNT_)
		f.policy = phx_policy((enum phx_policy_id)a->model);
	check_names(&f);
	check_enums(&f);
	check_bounds(&f);
	check_setup(&f);
	if (f.policy)
		check_params(&f);
	check_slurm(&f);
	check_keys(&f);
	phx_re_kind(a)->check(&f);
	return f.n;
}

unsigned phx_agreement_check_new(const struct phx_agreement *a, phx_agreement_found_fn found,
				 void *arg)
{
	struct phx_agreement_findings f = {.a = a, .found = found, .arg = arg};

	wrong_if(&f, strchr(a->slurm_conf, '/'), "slurm_conf",
		 "is a path, and must be a name: ask the resource provider to put the file into "
		 "his slurm_dir "
		 "(/etc/phoenix/slurm/NAME.conf), and write slurm_conf = \"NAME\"");
	return f.n ? f.n : phx_agreement_check(a, found, arg);
}

/* Two names, or two paths of older agreements, are compared whole. A name and a path mean the same
 * Slurm when the path ends in /NAME.conf. */
bool phx_agreement_same_slurm(const struct phx_agreement *a, const struct phx_agreement *b)
{
	const char *one = a->slurm_conf, *other = b->slurm_conf;
	const char *path = one[0] == '/' ? one : other, *name = one[0] == '/' ? other : one;
	const char *last = strrchr(path, '/');
	size_t n = strlen(name);

	if (!one[0] || !other[0] || name[0] == '/' || !last)
		return !strcmp(one[0] ? one : PHX_SLURM_CONF_DEFAULT,
			       other[0] ? other : PHX_SLURM_CONF_DEFAULT);
	return !strncmp(last + 1, name, n) && !strcmp(last + 1 + n, ".conf");
}

/* Does `a` want to be coordinated, and do its partner's name and owner allow `with`? */
static int check_partner(const struct phx_agreement *a, const struct phx_agreement *with,
			 struct phx_err *err)
{
	if (a->coordination == PHX_RE_COORDINATED_NONE)
		return phx_err_set(err, -EINVAL, "RE %s is not to be coordinated", a->name);
	if (a->partner[0] && strcmp(a->partner, with->name))
		return phx_err_set(err, -EINVAL, "RE %s names %s as its partner, not %s", a->name,
				   a->partner, with->name);
	if (a->coordination == PHX_RE_COORDINATED_OWN && strcmp(a->owner, with->owner))
		return phx_err_set(err, -EINVAL,
				   "RE %s shares nodes with REs of %s only, and %s is of %s",
				   a->name, a->owner[0] ? a->owner : "its own service provider",
				   with->name, with->owner[0] ? with->owner : "another");
	return 0;
}

int phx_agreement_check_pair(const struct phx_agreement *a, const struct phx_agreement *b,
			     struct phx_err *err)
{
	const struct phx_agreement *batch = phx_re_kind(a)->has_jobs ? a : b,
				   *web = batch == a ? b : a;

	if (!phx_re_kind(batch)->has_jobs || !phx_re_kind(web)->has_demand)
		return phx_err_set(
			err, -EINVAL,
			"%s and %s: a pair is one RE for batch jobs and one for a web service",
			batch->name, web->name);
	int r = check_partner(batch, web, err);
	if (r == 0)
		r = check_partner(web, batch, err);
	if (r < 0)
		return r;
	if (batch->model != web->model)
		return phx_err_set(
			err, -EINVAL,
			"coordinated REs have one model: that of %s is %s, that of %s is %s",
			batch->name, phx_enum_name(&phx_policy_names, batch->model), web->name,
			phx_enum_name(&phx_policy_names, web->model));
	return 0;
}

struct phx_policy_params phx_agreement_params(const struct phx_agreement *a)
{
	const struct phx_policy *p = phx_policy((enum phx_policy_id)a->model);

	return (struct phx_policy_params){
		.lease_ms = uses(p, "LC") ? (int64_t)a->lease_s * 1000 : 0,
		.cycle_ms = uses(p, "S") ? (int64_t)a->cycle_s * 1000 : 0,
		.u_milli = a->u_milli,
		.v_milli = a->v_milli,
		.g_milli = a->g_milli,
		.r_milli = a->r_milli,
		.release_pool = !a->release_own,
		.release_by_idle = a->obtain_by_idle,
		.return_full = a->return_full,
	};
}
