/* phx package: making, signing and checking packages, and the head's
 * repository. Pushing to machines without an agent is in push.c. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "phx/cli.h"
#include "phx/push.h"
#include "repo/repo.h"

static const char *repo_dir(struct cli *cli)
{
	const char *dir = cli_opt(cli, CLI_OPT_dir, NULL);
	return dir ? dir : cli_head_dir(cli, "package_dir");
}

static int changed(struct cli *cli)
{
	return cli_has(cli, CLI_OPT_dir) ? CLI_OK : cli_tell_changed(cli, false);
}

/* ---- build, sign, verify ---- */

/* The key to sign with, looked at before anything is built: NULL in *ret_key with --unsigned. 0 or
 * an exit code, told. */
static int build_key(struct cli *cli, char **ret_key)
{
	*ret_key = NULL;
	if (cli_has(cli, CLI_OPT_unsigned)) {
		return cli_has(cli, CLI_OPT_sign_key)
			? cli_fail(CLI_USAGE,
				   "package build: --unsigned and --sign-key exclude each other")
			: CLI_OK;
	}
	PHX_AUTO_FREE char *key = cli_sign_key(cli);
	if (!key)
		return cli_fail(CLI_PARTIAL, "out of memory");
	if (access(key, R_OK) < 0)
		return cli_fail(CLI_CONFIG,
				"%s: %s; make a key (phx package key new), name the one to sign "
				"with (--sign-key FILE), or build --unsigned",
				key, strerror(errno));
	*ret_key = PHX_TAKE(key);
	return CLI_OK;
}

int cmd_package_build(struct cli *cli)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *path = NULL, *key = NULL;
	int code = build_key(cli, &key);
	if (code)
		return code;
	int r = phx_package_build(cli_arg(cli, 0), cli_opt(cli, CLI_OPT_out, "."), &path, &err);
	if (r == 0 && key)
		r = phx_package_sign(path, key, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	struct phx_package p;
	if (!cli_structured(cli)) {
		printf("%s\n", path);
		return CLI_OK;
	}
	r = phx_package_inspect(path, &p, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_package_record, &p);
	json_object_set_new(j, "path", json_string(path));
	return cli_print_value(cli, j);
}

int cmd_package_sign(struct cli *cli)
{
	PHX_AUTO_FREE char *key = cli_sign_key(cli);
	int code = key ? CLI_OK : cli_fail(CLI_PARTIAL, "out of memory");
	for (unsigned i = 0; key && i < cli->args.n_args; i++) {
		struct phx_err err = {0};
		int r = phx_package_sign(cli_arg(cli, i), key, &err);
		if (r < 0)
			code = cli_fail_err(r, &err);
	}
	return code;
}

static int verify(const char *path, const char *ring)
{
	struct phx_err err = {0};
	struct phx_package p;
	int r = phx_package_verify(path, ring, &p, &err);
	if (r < 0)
		return cli_fail(CLI_PARTIAL, "%s", err.text);
	printf("%s: %s-%s, %u entries, signature and contents are right; signed by key %s\n", path,
	       p.name, p.version, p.n_entries, p.signed_by);
	return CLI_OK;
}

int cmd_package_verify(struct cli *cli)
{
	PHX_AUTO_FREE char *ring = cli_package_ring(cli);
	int code = ring ? CLI_OK : cli->head_code;
	for (unsigned i = 0; ring && i < cli->args.n_args; i++) {
		int c = verify(cli_arg(cli, i), ring);
		code = c ? c : code;
	}
	return code;
}

/* ---- the repository ---- */

static const struct cli_column package_columns[] = {
	{.head = "PACKAGE", .path = "name"},
	{.head = "VERSION", .path = "version"},
	{.head = "ARCH", .path = "arch"},
	{.head = "SIZE", .path = "size_bytes", .put = cli_put_size, .right = true},
	{.head = "UNPACKED", .path = "unpacked_bytes", .put = cli_put_size, .right = true},
	{.head = "FILES", .path = "n_entries", .right = true},
	{.head = "DIGEST", .path = "sha256", .put = cli_put_digest, .wide = true},
	{.head = "SIGNED BY", .path = "signed_by", .wide = true},
	{.head = "SUMMARY", .path = "summary"},
};

static int list_dir(struct cli *cli, const char *dir, json_t **ret)
{
	PHX_AUTO_FREE char *ring = cli_package_ring(cli);
	struct phx_err err = {0};
	int r = ring ? phx_repo_json(dir, ring, ret, &err) : 0;
	return !ring ? cli->head_code : r < 0 ? cli_fail_err(r, &err) : CLI_OK;
}

int cmd_package_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	const char *dir = cli_opt(cli, CLI_OPT_dir, NULL);
	int code = dir ? list_dir(cli, dir, &answer) : cli_get(cli, "/v1/packages", &answer);
	if (code)
		return code;
	const json_t *bad = json_object_get(answer, "bad");
	size_t i;
	json_t *b;
	json_array_foreach((json_t *)bad, i, b)
		cli_fail(CLI_PARTIAL, "%s: %s", phx_json_str(b, "file", "?"),
			 phx_json_str(b, "reason", "?"));
	code = cli_print_rows(cli, package_columns, PHX_ARRAY_SIZE(package_columns),
			      json_object_get(answer, "packages"), answer);
	return code || !json_array_size(bad) ? code : CLI_PARTIAL;
}

/* "NAME-VERSION": a version has no '-', so the last one divides them. */
static int split(const char *text, char ret_name[PHX_NAME_MAX], const char **ret_version)
{
	const char *dash = strrchr(text, '-');
	bool has_version = dash && dash[1] >= '0' && dash[1] <= '9';
	size_t n = has_version ? (size_t)(dash - text) : strlen(text);
	if (n >= PHX_NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(ret_name, text, n);
	ret_name[n] = '\0';
	*ret_version = has_version ? dash + 1 : NULL;
	return 0;
}

/* Does a role still run it? Told. */
static int check_unused(struct cli *cli, const char *name, const char *version)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = cli_has(cli, CLI_OPT_dir) ? CLI_OK : cli_get(cli, "/v1/roles", &answer);
	size_t i, k;
	json_t *role, *p;
	json_array_foreach(json_object_get(answer, "roles"), i, role) {
		json_array_foreach(json_object_get(role, "packages"), k, p) {
			if (phx_str_eq(phx_json_str(p, "name", ""), name) &&
			    phx_str_eq(phx_json_str(p, "version", ""), version))
				return cli_fail(CLI_USAGE, "%s-%s is a package of role %s", name,
						version, phx_json_str(role, "name", "?"));
		}
	}
	return code;
}

static int remove_file(const char *path)
{
	PHX_AUTO_FREE char *sig = phx_path("%s.sig", path);
	/* the signature first: without it the package is no package */
	if (!sig || (unlink(sig) < 0 && errno != ENOENT) || (unlink(path) < 0 && errno != ENOENT))
		return cli_fail(CLI_NOT_PERMITTED, "%s: %s", path, strerror(errno));
	return CLI_OK;
}

int cmd_package_rm(struct cli *cli)
{
	PHX_AUTO_FREE char *ring = cli_package_ring(cli);
	PHX_AUTO_FREE char *path = NULL, *question = NULL;
	const char *dir = repo_dir(cli), *version = NULL;
	char name[PHX_NAME_MAX];
	struct phx_err err = {0};
	struct phx_package p;
	if (!ring || !dir)
		return cli->head_code;
	if (split(cli_arg(cli, 0), name, &version) < 0 || !version)
		return cli_fail(CLI_USAGE, "package rm: '%s' is not NAME-VERSION", cli_arg(cli, 0));
	int r = phx_repo_find(dir, ring, name, version, &path, &p, &err);
	if (r == -ENOENT) {
		fprintf(stderr, "phx: %s is not there\n", cli_arg(cli, 0));
		return CLI_OK;
	}
	if (r < 0)
		return cli_fail_err(r, &err);
	int code = check_unused(cli, name, version);
	if (!code && asprintf(&question, "remove package %s-%s", name, version) < 0)
		code = cli_fail(CLI_PARTIAL, "out of memory");
	if (!code)
		code = cli_confirm(cli, question, 1);
	if (!code)
		code = remove_file(path);
	return code ? code : changed(cli);
}

/* ---- push ---- */

static int push_to_head(struct cli *cli, const char *path, const char *ring)
{
	const char *dir = repo_dir(cli);
	struct phx_err err = {0};
	struct phx_package p;
	int r = phx_repo_add(dir, ring, path, &p, &err);
	if (r < 0)
		return r == -EKEYREJECTED || r == -EBADMSG ? cli_fail(CLI_PARTIAL, "%s", err.text)
							   : cli_fail_err(r, &err);
	if (cli_structured(cli)) {
		PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_package_record, &p);
		cli_print_value(cli, j);
	} else {
		printf("%s-%s\n", p.name, p.version);
	}
	return changed(cli);
}

/* A file, or NAME[-VERSION] of the repository; malloc'd, NULL: told. */
static char *find_package(struct cli *cli, const char *text, const char *ring)
{
	char name[PHX_NAME_MAX];
	const char *version;
	struct phx_err err = {0};
	struct phx_package p;
	char *path = NULL;
	if (access(text, F_OK) == 0 || strchr(text, '/'))
		return strdup(text);
	if (split(text, name, &version) < 0 ||
	    phx_repo_find(repo_dir(cli), ring, name, version, &path, &p, &err) < 0) {
		cli_fail(CLI_USAGE, "'%s' is neither a file nor a package of the repository: %s",
			 text, err.text);
		return NULL;
	}
	return path;
}

int cmd_package_push(struct cli *cli)
{
	PHX_AUTO_FREE char *ring = cli_package_ring(cli);
	if (!ring || !repo_dir(cli))
		return cli->head_code;
	if (cli->args.n_args == 1)
		return push_to_head(cli, cli_arg(cli, 0), ring);
	PHX_AUTO_FREE char *path = find_package(cli, cli_arg(cli, 1), ring);
	return path ? cli_push(cli, cli_arg(cli, 0), path, ring) : CLI_USAGE;
}
