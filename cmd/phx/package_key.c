/* phx package key: the keys that packages and images are signed with. A private key is made, and
 * stays, where packages are built; the head has the public ones, which whoever is root there puts
 * into package_key_dir. Never sends a private key anywhere. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "phx/cli.h"
#include "pki/ring.h"
#include "repo/repo.h"

char *cli_package_ring(struct cli *cli)
{
	const char *given = cli_opt(cli, CLI_OPT_pub, NULL);
	if (given)
		return strdup(given);
	const char *keys = cli_head_dir(cli, "package_key_dir");
	const char *pki = keys ? cli_head_dir(cli, "pki_dir") : NULL;
	return pki ? phx_repo_ring(keys, pki) : NULL;
}

char *cli_sign_key(struct cli *cli)
{
	const char *given = cli_opt(cli, CLI_OPT_sign_key, getenv("PHX_SIGN_KEY"));
	return given && *given ? strdup(given) : cli_own_file("package.key");
}

int cli_image_trust(struct cli *cli, struct phx_image_trust *ret)
{
	static const struct phx_image_trust nobody = {0};
	*ret = nobody;
	/* a directory that is no head's is believed by the keys that are named, or not looked at */
	if (cli_has(cli, CLI_OPT_dir) && !cli_has(cli, CLI_OPT_pub))
		return CLI_OK;
	const char *wanted =
		cli_has(cli, CLI_OPT_dir) ? "true" : cli_head_value(cli, "images_signed");
	ret->wanted = phx_str_eq(wanted, "true");
	ret->ring = wanted ? cli_package_ring(cli) : NULL;
	return ret->ring ? CLI_OK : cli->head_code;
}

/* ---- new ---- */

int cmd_package_key_new(struct cli *cli)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *path =
		cli_arg(cli, 0) ? strdup(cli_arg(cli, 0)) : cli_own_file("package.key");
	PHX_AUTO_FREE char *dir = path ? strdup(path) : NULL, *pub = NULL;
	char *slash = dir ? strrchr(dir, '/') : NULL;
	if (!dir)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int r = 0;
	if (slash && slash > dir) {
		*slash = '\0';
		r = phx_dir_make(dir, 0700, &err);
	}
	r = r ? r : phx_sign_key_new(path, &pub, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	printf("%s\n%s\n", path, pub);
	return CLI_OK;
}

/* ---- list ---- */

static const struct cli_column key_columns[] = {
	{.head = "KEY", .path = "name"},
	{.head = "ID", .path = "id"},
};

int cmd_package_key_list(struct cli *cli)
{
	PHX_AUTO_FREE char *ring = cli_package_ring(cli);
	PHX_AUTO(phx_list_fini) struct phx_list keys = {0};
	struct phx_err err = {0};
	if (!ring)
		return cli->head_code;
	int r = phx_ring_read(ring, &keys, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	PHX_AUTO_JSON json_t *rows = phx_json_from_list(&phx_ring_key_record, &keys);
	PHX_AUTO_JSON json_t *all = json_pack("{s:O}", "keys", rows);
	return cli_print_rows(cli, key_columns, PHX_ARRAY_SIZE(key_columns), rows, all);
}

/* ---- add, rm ---- */

static int put_key(const char *dir, const char *name, const char *pem, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s.pub", dir, name);
	if (!path)
		return -ENOMEM;
	if (access(path, F_OK) == 0)
		return phx_err_set(err, -EEXIST, "%s is there: give the key another name", path);
	return phx_file_write(path, pem, strlen(pem), 0644, err);
}

/* The directory, made where there is none. The key of the site goes on being believed then, as
 * `site`: what it signed is in use. */
static int make_ring(struct cli *cli, const char *dir, struct phx_err *err)
{
	const char *pki = cli_head_dir(cli, "pki_dir");
	PHX_AUTO_FREE char *site = pki ? phx_path("%s/site.pub", pki) : NULL, *pem = NULL;
	if (access(dir, F_OK) == 0)
		return 0;
	if (!site)
		return -ENOMEM;
	int r = phx_file_read(site, 65536, &pem, NULL, err);
	r = r ? r : phx_dir_make(dir, 0755, err);
	return r ? r : put_key(dir, "site", pem, err);
}

/* What packages are signed with is one public key; its name is that of its file. */
static int read_new(const char *path, struct phx_ring_key *ret, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list keys = {0};
	const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t n = strcspn(file, "."), max = sizeof(ret->name) - 1;
	int r = phx_ring_read(path, &keys, err);
	if (r < 0)
		return r;
	if (keys.n != 1)
		return phx_err_set(err, -EINVAL, "%s: holds %u keys; one is wanted", path, keys.n);
	*ret = *PHX_LIST_AT(&keys, struct phx_ring_key, 0);
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(n < max ? n : max), file);
	return 0;
}

int cmd_package_key_add(struct cli *cli)
{
	const char *dir = cli_head_dir(cli, "package_key_dir"), *name = cli_arg(cli, 1);
	struct phx_ring_key key;
	struct phx_err err = {0};
	if (!dir)
		return cli->head_code;
	int r = read_new(cli_arg(cli, 0), &key, &err);
	if (r == 0 && name)
		PHX_STR_SET(key.name, name);
	if (r == 0 && !phx_name_valid(key.name))
		r = phx_err_set(&err, -EINVAL, "'%s' is no name of a key", key.name);
	r = r ? r : make_ring(cli, dir, &err);
	r = r ? r : put_key(dir, key.name, key.pem, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	printf("%s %s\n", key.name, key.id);
	return cli_tell_changed(cli, false);
}

/* Which packages nobody believes any more: they are named, and stay. */
int cmd_package_key_rm(struct cli *cli)
{
	const char *dir = cli_head_dir(cli, "package_key_dir"), *name = cli_arg(cli, 0);
	struct phx_err err = {0};
	if (!dir)
		return cli->head_code;
	int r = make_ring(cli, dir, &err);
	PHX_AUTO_FREE char *path = phx_path("%s/%s.pub", dir, name), *question = NULL;
	if (r < 0)
		return cli_fail_err(r, &err);
	if (!path || asprintf(&question, "believe no package signed by key %s", name) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return cli_fail(CLI_USAGE, "there is no key '%s' in %s", name, dir);
	int code = cli_confirm(cli, question, 1);
	if (!code && unlink(path) < 0)
		code = cli_fail(cli_exit_of(-errno), "%s: %s", path, strerror(errno));
	return code ? code : cli_tell_changed(cli, false);
}
