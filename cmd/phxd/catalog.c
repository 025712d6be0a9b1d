/* The catalogue: brings the content of configuration, roles, rules, images and packages into the
 * core as events. Called at the start, by SIGHUP and by `phx reload`. Changes none of these files.
 */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "config/role.h"
#include "deploy/catalog.h"
#include "pki/ring.h"
#include "repo/repo.h"

static void complain(json_t *errors, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void complain(json_t *errors, const char *fmt, ...)
{
	char text[900];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (errors)
		json_array_append_new(errors, json_string(text));
	fprintf(stderr, "phxd: %s\n", text);
}

static char *ring_of(const struct daemon *d)
{
	return phx_repo_ring(d->cfg.package_key_dir, d->cfg.run_dir);
}

/* ---- images ---- */

int catalog_image(const struct daemon *d, const char *name, const char *version,
		  struct phx_image *ret, char ret_signature[PHX_SIG_HEX], struct phx_err *err)
{
	PHX_AUTO_FREE char *ring = ring_of(d);
	const struct phx_image_trust trust = {ring, d->cfg.images_signed};
	char signer[PHX_NAME_MAX];
	struct phx_image im;
	int r = ring ? phx_images_find(d->cfg.image_dir, name, version, &im, err) : -ENOMEM;
	if (r < 0)
		return r;
	r = phx_images_signed_by(d->cfg.image_dir, &im, &trust, signer, ret_signature, err);
	if (r < 0)
		phx_record_fini(&phx_image_record, &im);
	else
		*ret = im;
	return r;
}

/* ---- look-ups for roles ---- */

static int lookup_image(void *arg, const char *name, const char *version,
			char ret_version[PHX_NAME_MAX], char ret_digest[65],
			char ret_kernel[PHX_RELEASE_MAX], struct phx_err *err)
{
	struct daemon *d = arg;
	struct phx_image im;
	int r = catalog_image(d, name, version, &im, NULL, err);
	if (r < 0)
		return r;
	phx_str_copy(ret_version, PHX_NAME_MAX, im.version);
	phx_str_copy(ret_digest, 65, im.digest);
	const struct phx_image_own *own = phx_image_own(&im, NULL);
	phx_str_copy(ret_kernel, PHX_RELEASE_MAX, own ? own->release : "");
	phx_record_fini(&phx_image_record, &im);
	return 0;
}

static int lookup_kernel(void *arg, const char *image, const char *version, const char *release,
			 struct phx_err *err)
{
	struct daemon *d = arg;
	struct phx_image im;
	int r = catalog_image(d, image, version, &im, NULL, err);
	if (r < 0)
		return r;
	r = phx_image_own(&im, release) ? 0 : -ENOENT;
	phx_record_fini(&phx_image_record, &im);
	return r;
}

static int lookup_package(void *arg, const char *name, const char *version,
			  struct phx_package_ref *ret, struct phx_err *err)
{
	struct daemon *d = arg;
	struct phx_package p;
	PHX_AUTO_FREE char *ring = ring_of(d);
	PHX_AUTO_FREE char *path = NULL;
	int r = ring ? phx_repo_find(d->cfg.package_dir, ring, name, version, &path, &p, err)
		     : -ENOMEM;
	if (r < 0)
		return r;
	PHX_STR_SET(ret->name, p.name);
	PHX_STR_SET(ret->version, p.version);
	PHX_STR_SET(ret->sha256, p.sha256);
	ret->size_bytes = p.size_bytes;
	return 0;
}

static int lookup_pool(void *arg, const char *name, struct phx_err *err)
{
	struct daemon *d = arg;
	const struct phx_state *s = engine_lock(d->engine);
	bool there = phx_state_pool(s, name);
	engine_unlock(d->engine);
	return there
		? 0
		: phx_err_set(err, -ENOENT, "there is no pool '%s' in the configuration", name);
}

/* ---- events ---- */

static int submit(struct daemon *d, const char *by, struct phx_event *ev, struct phx_err *err)
{
	PHX_STR_SET(ev->by, by);
	return engine_submit(d->engine, ev, NULL, err);
}

static int put_settings(struct daemon *d, const char *by, struct phx_err *err)
{
	struct phx_event ev = {.kind = PHX_EV_settings};
	phx_config_settings(&d->cfg, &ev.site.settings);
	return submit(d, by, &ev, err);
}

/* Adds the kind to an owner; a name without one keeps the kind that was found when it was read
 * first. */
static int settle_owner(struct daemon *d, struct phx_pool *pool, struct phx_err *err)
{
	char word[PHX_IDENTITY_MAX], known[PHX_IDENTITY_MAX] = "";
	if (!pool->owner[0])
		return 0;
	PHX_STR_SET(word, pool->owner);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_pool *there = phx_state_pool(s, pool->name);
	if (there)
		PHX_STR_SET(known, there->owner);
	engine_unlock(d->engine);
	int r = identity_settle(word, known, pool->owner, err);
	return r ? phx_err_prefix(err, r, "pool %s: owner", pool->name) : 0;
}

/* A pool that cannot pass to the owner in the file keeps its present one; a pool with the name of
 * an RE is not made. */
static int put_pools(struct daemon *d, const char *by, json_t *errors, struct phx_err *err)
{
	PHX_LIST_EACH(struct phx_pool, p, &d->cfg.pools) {
		struct phx_event ev = {.kind = PHX_EV_pool_put, .pool.pool_put = *p};
		struct phx_err why = {0};
		int r = settle_owner(d, &ev.pool.pool_put, &why);
		r = r ? r : submit(d, by, &ev, &why);
		if (r == -EBUSY || r == -EEXIST)
			complain(errors, "%s", why.text);
		else if (r < 0)
			return phx_err_set(err, r, "%s", why.text);
	}
	return 0;
}

static bool configured_pool(const struct daemon *d, const char *name)
{
	if (!strcmp(name, PHX_POOL_FREE))
		return true;
	PHX_LIST_EACH(struct phx_pool, p, &d->cfg.pools)
		if (!strcmp(p->name, name))
			return true;
	return false;
}

static bool named(const struct phx_list *roles, const char *name)
{
	PHX_LIST_EACH(struct phx_role, r, roles)
		if (!strcmp(r->name, name))
			return true;
	return false;
}

/* Names of the core's pools (or roles) that the configuration no longer has; the pool of an RE
 * never was in it. */
static struct phx_list gone_names(struct daemon *d, const struct phx_list *roles)
{
	struct phx_list names = {0};
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_list *have = roles ? &s->roles : &s->pools;
	for (uint32_t i = 0; i < have->n; i++) {
		const char *name = roles ? PHX_LIST_AT(have, struct phx_role, i)->name
					 : PHX_LIST_AT(have, struct phx_pool, i)->name;
		struct phx_word *w;
		bool kept = roles ? named(roles, name)
				  : configured_pool(d, name) || phx_state_re(s, name);
		if (!kept && (w = phx_list_push(&names, sizeof(*w))))
			PHX_STR_SET(w->text, name);
	}
	engine_unlock(d->engine);
	return names;
}

/* ---- keys of packages ---- */

/* Whoever can sign as the head can have any package accepted: so this is told at each start and
 * reload. */
static void warn_site_key(const struct daemon *d, const struct phx_list *keys)
{
	PHX_LIST_EACH(struct phx_ring_key, k, keys)
		if (!strcmp(k->pem, phx_pki_site_pub_pem(d->pki)))
			fprintf(stderr,
				"phxd: packages are signed by a key that is on this head (%s, the "
				"site's own): sign them elsewhere, and retire it: phx package "
				"key\n",
				k->name);
}

int catalog_site_files(struct daemon *d, struct phx_err *err)
{
	PHX_AUTO_FREE char *ring = ring_of(d);
	PHX_AUTO(phx_list_fini) struct phx_list keys = {0};
	int r = ring ? phx_ring_read(ring, &keys, err) : -ENOMEM;
	PHX_AUTO_FREE char *text = r ? NULL : phx_ring_text(&keys);
	return text ? net_site_files(d, text, err) : r ? r : -ENOMEM;
}

/* Tells the core the keys on disk, so that changes are journalled. If the ring cannot be read, an
 * error is told and no key is trusted. */
static int put_package_keys(struct daemon *d, const char *by, json_t *errors, struct phx_err *err)
{
	PHX_AUTO_FREE char *ring = ring_of(d);
	PHX_AUTO(phx_list_fini) struct phx_list keys = {0};
	PHX_AUTO(phx_event_fini) struct phx_event ev = {.kind = PHX_EV_package_keys};
	struct phx_err why = {0};
	int r = ring ? phx_ring_read(ring, &keys, &why) : -ENOMEM;
	if (r < 0)
		complain(errors, "keys of packages: %s", why.text);
	warn_site_key(d, &keys);
	PHX_LIST_EACH(struct phx_ring_key, k, &keys) {
		struct phx_trusted_key *t = phx_list_push(&ev.package_keys.keys, sizeof(*t));
		if (!t)
			return -ENOMEM;
		PHX_STR_SET(t->name, k->name);
		PHX_STR_SET(t->id, k->id);
	}
	PHX_AUTO_FREE char *text = phx_ring_text(&keys);
	r = text ? net_site_files(d, text, err) : -ENOMEM;
	return r ? r : submit(d, by, &ev, err);
}

/* ---- the deploy image ---- */

static bool may_be_older(const struct daemon *d, const struct phx_image *im)
{
	return phx_older_allowed(&d->cfg.deploy_allow_older, im->name, im->version);
}

/* `ret_known`: the core has been told that this image is used. */
static int find_deploy(const struct daemon *d, struct phx_image *ret, bool *ret_known,
		       struct phx_err *err)
{
	struct phx_image im;
	int r = catalog_image(d, d->cfg.deploy_image, NULL, &im, NULL, err);
	if (r < 0)
		return r;
	const struct phx_state *s = engine_lock(d->engine);
	r = phx_core_deploy_image(s, im.name, im.version, im.kernel_release, may_be_older(d, &im),
				  err);
	engine_unlock(d->engine);
	if (r < 0) {
		phx_record_fini(&phx_image_record, &im);
		return r;
	}
	*ret_known = r == 0;
	*ret = im;
	return 0;
}

int catalog_deploy(const struct daemon *d, struct phx_image *ret, struct phx_err *err)
{
	bool known;
	return find_deploy(d, ret, &known, err);
}

int catalog_use_deploy(struct daemon *d, const char *by, struct phx_image *ret, struct phx_err *err)
{
	bool known;
	struct phx_event ev = {.kind = PHX_EV_deploy_image};
	int r = find_deploy(d, ret, &known, err);
	if (r < 0 || known)
		return r;
	PHX_STR_SET(ev.deploy_image.name, ret->name);
	PHX_STR_SET(ev.deploy_image.version, ret->version);
	PHX_STR_SET(ev.deploy_image.kernel, ret->kernel_release);
	ev.deploy_image.may_be_older = may_be_older(d, ret);
	submit(d, by, &ev, NULL); /* a full journal must not keep machines from starting */
	return 0;
}

/* A missing deploy image is no mistake of the catalogue: machines that ask for it are told. */
static void put_deploy(struct daemon *d, const char *by, json_t *errors)
{
	struct phx_err why = {0};
	struct phx_image im;
	int r = catalog_use_deploy(d, by, &im, &why);
	if (r == 0)
		phx_record_fini(&phx_image_record, &im);
	if (r == -ESTALE) {
		complain(errors, "%s", why.text);
		engine_notice(d->engine, "", why.text);
	}
}

/* Removes from the core what is gone from the files, unless a node still needs it: then it stays,
 * and an error is told. */
static void remove_gone(struct daemon *d, const char *by, const struct phx_list *roles,
			json_t *errors)
{
	struct phx_list names = gone_names(d, roles);
	PHX_LIST_EACH(struct phx_word, w, &names) {
		struct phx_err why = {0};
		struct phx_event ev = {.kind = roles ? PHX_EV_role_remove : PHX_EV_pool_remove};
		phx_str_copy(ev.named.name, sizeof(ev.named.name), w->text);
		if (submit(d, by, &ev, &why) < 0)
			complain(errors, "%s", why.text);
	}
	phx_list_fini(&names);
}

/* Journals that the catalogue has an older image than before: it was restored, or altered. */
static void tell_older(struct daemon *d, const char *role, const struct phx_err *why)
{
	char text[sizeof(((struct phx_event *)0)->text)];
	snprintf(text, sizeof(text), "role %s stays as it is: %.180s", role, why->text);
	engine_notice(d->engine, "", text);
}

static void put_roles(struct daemon *d, const char *by, const struct phx_list *roles,
		      json_t *errors)
{
	PHX_LIST_EACH(struct phx_role, role, roles) {
		struct phx_err why = {0};
		struct phx_event ev = {.kind = PHX_EV_role_put,
				       .role = {.role_put = *role, .not_older = true}};
		int r = submit(d, by, &ev, &why);
		if (r < 0)
			complain(errors, "role %s: %s", role->name, why.text);
		if (r == -ESTALE)
			tell_older(d, role->name, &why);
	}
}

/* Rules may name the roles of the core: these include one whose file has just become bad. */
static void put_rules(struct daemon *d, const char *by, json_t *errors)
{
	struct phx_err why = {0};
	struct phx_event ev = {.kind = PHX_EV_rules_put};
	static const char core_name[] = "rules.conf:"; /* the core does not know the file's path */
	if (phx_rules_load(d->cfg.rules_file, NULL, &ev.rules_put.rules, &why) == 0 &&
	    submit(d, by, &ev, &why) < 0 && phx_str_starts(why.text, core_name))
		complain(errors, "%s:%s", d->cfg.rules_file, why.text + strlen(core_name));
	else if (why.text[0])
		complain(errors, "%s", why.text);
	phx_rules_fini(&ev.rules_put.rules);
}

/* ---- which kernel runs ---- */

void catalog_deploy_of(const struct daemon *d, const char *sha256, char *ret, size_t size)
{
	struct phx_list images = {0};
	*ret = '\0';
	if (phx_images_list(d->cfg.image_dir, &images, NULL, NULL) < 0)
		return;
	PHX_LIST_EACH(struct phx_image, im, &images)
		if (!strcmp(im->name, d->cfg.deploy_image) && !strcmp(im->digest, sha256))
			snprintf(ret, size, "%s %s", im->name, im->version);
	phx_images_fini(&images);
}

/* Roles whose image brings another kernel than the one that their nodes run. */
static void warn_kernels(const struct daemon *d, const struct phx_list *roles, json_t *warnings)
{
	struct phx_image deploy, im;
	char why[PHX_ERR_TEXT_MAX], text[PHX_ERR_TEXT_MAX + PHX_NAME_MAX + 8];
	if (catalog_deploy(d, &deploy, NULL) < 0)
		return;
	PHX_LIST_EACH(struct phx_role, role, roles) {
		if (phx_images_find(d->cfg.image_dir, role->image, role->image_version, &im, NULL) <
		    0)
			continue;
		if (phx_image_kernel_differs(&im, &deploy, why, sizeof(why))) {
			snprintf(text, sizeof(text), "role %s: %s", role->name, why);
			if (warnings)
				json_array_append_new(warnings, json_string(text));
			fprintf(stderr, "phxd: warning: %s\n", text);
		}
		phx_record_fini(&phx_image_record, &im);
	}
	phx_record_fini(&phx_image_record, &deploy);
}

static int load_roles(struct daemon *d, const char *by, json_t *errors, json_t *warnings,
		      struct phx_err *err)
{
	struct phx_role_lookup lookup = {d, lookup_image, lookup_package, lookup_pool,
					 lookup_kernel};
	struct phx_list roles = {0}, bad = {0};
	int r = phx_roles_load(d->cfg.role_dir, &lookup, &roles, &bad, err);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_role_bad, b, &bad)
		complain(errors, "%s", b->reason);
	put_roles(d, by, &roles, errors);
	/* a bad file must not make its role vanish */
	if (!bad.n)
		remove_gone(d, by, &roles, errors);
	put_rules(d, by, errors);
	warn_kernels(d, &roles, warnings);
	phx_roles_fini(&roles);
	phx_list_fini(&bad);
	return 0;
}

void catalog_sweep(const struct phx_config *cfg)
{
	phx_images_sweep(cfg->image_dir);
	phx_repo_sweep(cfg->package_dir);
}

int catalog_load(struct daemon *d, const char *by, json_t *errors, json_t *warnings,
		 struct phx_err *err)
{
	json_t *found = errors ? json_incref(errors) : json_array();
	int r = put_settings(d, by, err);
	r = r ? r : put_package_keys(d, by, found, err);
	if (r == 0)
		put_deploy(d, by, found);
	r = r ? r : put_pools(d, by, found, err);
	r = r ? r : load_roles(d, by, found, warnings, err);
	if (r == 0)
		remove_gone(d, by, NULL, found);
	engine_lock(d->engine);
	json_decref(d->mistakes);
	d->mistakes = found;
	engine_unlock(d->engine);
	return r;
}

json_t *catalog_mistakes(struct daemon *d)
{
	engine_lock(d->engine);
	json_t *copy = json_deep_copy(d->mistakes);
	engine_unlock(d->engine);
	return copy ? copy : json_array();
}

int catalog_no_role(struct daemon *d, const char *name, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *mistakes = catalog_mistakes(d);
	PHX_AUTO_FREE char *file = phx_path("%s/%s.conf:", d->cfg.role_dir, name);
	size_t i;
	json_t *text;
	json_array_foreach(mistakes, i, text)
		if (file && phx_str_starts(json_string_value(text), file))
			return phx_err_set(err, -ENOENT,
					   "there is no role '%s', as its file was not taken: %s",
					   name, json_string_value(text));
	return phx_err_set(err, -ENOENT, "there is no role '%s'", name);
}

/* ---- lists ---- */

json_t *catalog_images(struct daemon *d)
{
	PHX_AUTO_FREE char *ring = ring_of(d);
	const struct phx_image_trust trust = {ring, d->cfg.images_signed};
	json_t *j =
		ring ? phx_images_json(d->cfg.image_dir, d->cfg.deploy_image, &trust, NULL) : NULL;
	return j ? j : json_pack("{s:[],s:[]}", "images", "bad");
}

json_t *catalog_packages(struct daemon *d)
{
	PHX_AUTO_FREE char *ring = ring_of(d);
	json_t *j = NULL;
	return ring && phx_repo_json(d->cfg.package_dir, ring, &j, NULL) == 0
		? j
		: json_pack("{s:[],s:[]}", "packages", "bad");
}
