/* phx role check: role files against what the head has, by the function with
 * which phxd reads them. phxd is asked for images, packages and pools; without
 * it the head's directories are read. Never changes anything. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/version.h"
#include "config/role.h"
#include "deploy/catalog.h"
#include "phx/cli.h"
#include "repo/repo.h"

/* What names are looked up in: as the API gives it. */
struct known {
	struct cli *cli;
	/* {"images": [..], "bad": [..]}, {"packages": [..]}, [{"name"}] */
	json_t *images, *packages, *pools;
	unsigned n_warnings;
};

static void known_fini(struct known *k)
{
	json_decref(k->images);
	json_decref(k->packages);
	json_decref(k->pools);
}

/* ---- filling ---- */

static int ask_phxd(struct known *k)
{
	PHX_AUTO_JSON json_t *status = NULL;
	int code = cli_get(k->cli, "/v1/images", &k->images);
	if (!code)
		code = cli_get(k->cli, "/v1/packages", &k->packages);
	if (!code)
		code = cli_get(k->cli, "/v1/status", &status);
	k->pools = json_incref(json_object_get(status, "pools"));
	return code;
}

static int read_packages(struct cli *cli, json_t **ret, struct phx_err *err)
{
	const char *dir = cli_head_dir(cli, "package_dir");
	PHX_AUTO_FREE char *ring = dir ? cli_package_ring(cli) : NULL;
	return ring ? phx_repo_json(dir, ring, ret, err) : -ENOMEM;
}

/* Without phxd the pools of runtime environments are not known. */
static int read_here(struct known *k)
{
	const struct phx_config *cfg = cli_config(k->cli);
	const char *dir = cli_head_dir(k->cli, "image_dir");
	struct phx_err err = {0};
	if (!cfg || !dir)
		return CLI_CONFIG;
	fprintf(stderr, "phx: phxd does not answer: the files are checked against %s\n",
		cfg->state_dir);
	struct phx_image_trust trust;
	int code = cli_image_trust(k->cli, &trust);
	if (code)
		return code;
	k->images = phx_images_json(dir, cfg->deploy_image, &trust, &err);
	free(trust.ring);
	int r = k->images ? read_packages(k->cli, &k->packages, &err) : -EIO;
	if (r < 0)
		return cli_fail_err(r, &err);
	k->pools = json_pack("[{s:s}]", "name", "free");
	PHX_LIST_EACH(struct phx_pool, p, &cfg->pools)
		json_array_append_new(k->pools, json_pack("{s:s}", "name", p->name));
	return CLI_OK;
}

static int fill(struct known *k)
{
	int code = cli_head(k->cli);
	if (code)
		return code;
	return k->cli->head_answers ? ask_phxd(k) : read_here(k);
}

/* ---- looking up ---- */

/* The last item of that name, and version if one is given: the newest, as the lists are sorted. */
static const json_t *newest(const json_t *items, const char *name, const char *version)
{
	const json_t *found = NULL;
	size_t i;
	json_t *item;
	json_array_foreach((json_t *)items, i, item) {
		if (phx_str_eq(phx_json_str(item, "name", ""), name) &&
		    (!version || phx_str_eq(phx_json_str(item, "version", ""), version)))
			found = item;
	}
	return found;
}

/* An image that is there and cannot be used, newer than `good` (NULL: any): what phxd would take,
 * and refuse. */
static const char *why_bad(const json_t *bads, const char *name, const char *version,
			   const char *good)
{
	PHX_AUTO_FREE char *middle = phx_path("/%s/", name);
	const char *why = NULL;
	size_t i;
	json_t *bad;
	json_array_foreach((json_t *)bads, i, bad) {
		const char *path = phx_json_str(bad, "path", ""), *slash = strrchr(path, '/');
		const char *its = slash ? slash + 1 : "";
		size_t n = middle ? strlen(middle) : 0;
		bool of_name = n && slash && slash - path + 1 >= (ptrdiff_t)n &&
			!strncmp(slash + 1 - n, middle, n);
		if (of_name &&
		    (version ? phx_str_eq(its, version)
			     : !good || phx_version_compare(its, good) > 0))
			why = phx_json_str(bad, "reason", "");
	}
	return why;
}

static int lookup_image(void *arg, const char *name, const char *version,
			char ret_version[PHX_NAME_MAX], char ret_digest[65],
			char ret_kernel[PHX_RELEASE_MAX], struct phx_err *err)
{
	struct known *k = arg;
	const json_t *im = newest(json_object_get(k->images, "images"), name, version);
	const char *why = why_bad(json_object_get(k->images, "bad"), name, version,
				  phx_json_str(im, "version", NULL));
	if (why)
		return phx_err_set(err, -EBADMSG, "%s", why);
	if (!im)
		return -ENOENT;
	phx_str_copy(ret_version, PHX_NAME_MAX, phx_json_str(im, "version", ""));
	phx_str_copy(ret_digest, 65, phx_json_str(im, "digest", ""));
	phx_str_copy(ret_kernel, PHX_RELEASE_MAX, phx_json_str(im, "own_kernel", ""));
	const char *warning = phx_json_str(im, "kernel_warning", NULL);
	if (warning && !phx_json_bool(im, "told", false)) { /* once, however many roles have it */
		fprintf(stderr, "phx: warning: %s\n", warning);
		json_object_set_new((json_t *)im, "told", json_true());
		k->n_warnings++;
	}
	return 0;
}

static int lookup_kernel(void *arg, const char *image, const char *version, const char *release,
			 struct phx_err *err)
{
	struct known *k = arg;
	const json_t *im = newest(json_object_get(k->images, "images"), image, version);
	size_t i;
	json_t *kernel;
	(void)err;
	json_array_foreach(json_object_get(im, "kernels"), i, kernel)
		if (phx_str_eq(phx_json_str(kernel, "release", ""), release))
			return 0;
	return -ENOENT;
}

static int lookup_package(void *arg, const char *name, const char *version,
			  struct phx_package_ref *ret, struct phx_err *err)
{
	struct known *k = arg;
	const json_t *p = newest(json_object_get(k->packages, "packages"), name, version);
	(void)err;
	if (!p)
		return -ENOENT;
	PHX_STR_SET(ret->name, phx_json_str(p, "name", ""));
	PHX_STR_SET(ret->version, phx_json_str(p, "version", ""));
	return 0;
}

static int lookup_pool(void *arg, const char *name, struct phx_err *err)
{
	struct known *k = arg;
	if (newest(k->pools, name, NULL))
		return 0;
	if (k->cli->head_answers)
		return -ENOENT;
	(void)err;
	fprintf(stderr,
		"phx: warning: pool '%s' is none of the configuration; whether a runtime "
		"environment has it, phxd knows\n",
		name);
	k->n_warnings++;
	return 0;
}

/* ---- checking ---- */

static int check_file(const char *path, const struct phx_role_lookup *lookup)
{
	struct phx_err err = {0};
	struct phx_role role;
	int r = phx_role_load(path, lookup, &role, &err);
	if (r < 0)
		return cli_fail(CLI_CONFIG, "%s", err.text);
	printf("%s: role %s is right\n", path, role.name);
	phx_record_fini(&phx_role_record, &role);
	return CLI_OK;
}

static int check_rules(const char *path, const struct phx_list *roles)
{
	struct phx_list rules = {0};
	struct phx_err err = {0};
	int r = phx_rules_load(path, roles, &rules, &err);
	if (r < 0)
		return cli_fail(CLI_CONFIG, "%s", err.text);
	printf("%s: %u rules are right\n", path, rules.n);
	phx_rules_fini(&rules);
	return CLI_OK;
}

static int check_all(struct cli *cli, const struct phx_role_lookup *lookup)
{
	const char *dir = cli_head_dir(cli, "role_dir"),
		   *rules_file = cli_head_dir(cli, "rules_file");
	struct phx_err err = {0};
	struct phx_list roles = {0}, bad = {0};
	if (!dir || !rules_file)
		return cli->head_code;
	int r = phx_roles_load(dir, lookup, &roles, &bad, &err);
	if (r < 0)
		return cli_fail(CLI_CONFIG, "%s", err.text);
	int code = bad.n ? CLI_CONFIG : CLI_OK;
	PHX_LIST_EACH(struct phx_role_bad, b, &bad)
		cli_fail(CLI_CONFIG, "%s", b->reason);
	printf("%s: %u %s right, %u %s not\n", dir, roles.n, roles.n == 1 ? "role is" : "roles are",
	       bad.n, bad.n == 1 ? "is" : "are");
	int rules_code = check_rules(rules_file, &roles);
	phx_roles_fini(&roles);
	phx_list_fini(&bad);
	return code ? code : rules_code;
}

int cmd_role_check(struct cli *cli)
{
	PHX_AUTO(known_fini) struct known k = {.cli = cli};
	const struct phx_role_lookup lookup = {&k, lookup_image, lookup_package, lookup_pool,
					       lookup_kernel};
	int code = fill(&k);
	if (code)
		return code;
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		const char *path = cli_arg(cli, i), *slash = strrchr(path, '/');
		bool rules = phx_str_eq(slash ? slash + 1 : path, "rules.conf");
		int c = rules ? check_rules(path, NULL) : check_file(path, &lookup);
		code = c ? c : code;
	}
	if (!cli->args.n_args)
		code = check_all(cli, &lookup);
	return !code && k.n_warnings && cli_has(cli, CLI_OPT_strict) ? CLI_CONFIG : code;
}
