/* phx backup, phx restore: the head's state as one file, and back (lib/backup). Run on the head by
 * root: they read its files, and ask phxd nothing. */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backup/backup.h"
#include "backup/stream.h"
#include "base/file.h"
#include "base/json.h"
#include "phx/cli.h"

enum { NAMED_MAX = 12 };

/* The passphrase of --passphrase-file, or none: *ret is `buf` or NULL. */
static int read_passphrase(struct cli *cli, char buf[PHX_PASSPHRASE_MAX], const char **ret)
{
	struct phx_err err = {0};
	const char *path = cli_opt(cli, CLI_OPT_passphrase_file, NULL);
	*ret = NULL;
	if (!path)
		return CLI_OK;
	int r = phx_passphrase_read(path, buf, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	*ret = buf;
	return CLI_OK;
}

static void put_size(struct phx_buf *b, uint64_t bytes)
{
	PHX_AUTO_JSON json_t *n = json_integer((json_int_t)bytes);
	cli_put_size(b, n, NULL);
}

static json_t *names_of(const struct phx_list *names)
{
	json_t *list = json_array();
	PHX_LIST_EACH(struct phx_backup_name, n, names)
		json_array_append_new(list, json_string(n->path));
	return list;
}

/* ---- backup ---- */

static void say_left_out(const struct phx_backup_done *d)
{
	const struct phx_list *names = &d->manifest.left_out;
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_backup_name, name, names) {
		if (n++ < NAMED_MAX)
			fprintf(stderr, "phx: left out%s: %s\n",
				d->sealed ? ", being neither file nor directory"
					  : ", being secret or no file",
				name->path);
	}
	if (n > NAMED_MAX)
		fprintf(stderr, "phx: left out: %u more\n", n - NAMED_MAX);
	if (!d->sealed)
		fprintf(stderr,
			"phx: it holds no keys: nodes follow a head that is restored from it only "
			"where pki/ is still there (--passphrase-file)\n");
}

static int say_made(struct cli *cli, const char *to, const struct phx_backup_done *d)
{
	const struct phx_backup_manifest *m = &d->manifest;
	PHX_AUTO(phx_buf_fini) struct phx_buf size = {0};
	if (cli_structured(cli)) {
		PHX_AUTO_JSON json_t *j =
			json_pack("{s:s,s:I,s:I,s:I,s:b,s:b,s:b,s:o}", "file", to, "event",
				  (json_int_t)m->seq, "files", (json_int_t)m->files.n, "bytes",
				  (json_int_t)d->bytes, "keys", m->keys, "disk_keys", m->disk_keys,
				  "images", m->images, "left_out", names_of(&m->left_out));
		return cli_print_value(cli, j);
	}
	put_size(&size, d->bytes);
	printf("%s: the head as of event %llu: %u files, %s%s\n", to, (unsigned long long)m->seq,
	       m->files.n, size.data ? size.data : "", d->sealed ? ", sealed" : "");
	say_left_out(d);
	return CLI_OK;
}

/* The directory of phoenix.conf; `buf` is cut there. */
static const char *config_dir(struct cli *cli, char *buf, size_t size)
{
	const char *path = cli_opt(cli, CLI_OPT_config, getenv("PHX_CONFIG"));
	snprintf(buf, size, "%s", path ? path : PHX_CONFIG_PATH);
	return dirname(buf);
}

int cmd_backup(struct cli *cli)
{
	const struct phx_config *cfg = cli_config(cli);
	char buf[PHX_PASSPHRASE_MAX], dir[4096];
	struct phx_backup_done done = {0};
	struct phx_err err = {0};
	if (!cfg)
		return CLI_CONFIG;
	const struct phx_backup_places places = {
		cfg->state_dir,       cfg->journal,
		cfg->pki_dir,         cfg->key_dir,
		cfg->image_dir,       cfg->package_dir,
		cfg->package_key_dir, config_dir(cli, dir, sizeof(dir)),
		cfg->role_dir,        cfg->site_dir,
		cfg->bmc_dir};
	struct phx_backup_how how = {.disk_keys = cli_has(cli, CLI_OPT_with_disk_keys),
				     .images = cli_has(cli, CLI_OPT_with_images),
				     .version = PHX_VERSION};
	int code = read_passphrase(cli, buf, &how.passphrase);
	if (code)
		return code;
	int r = phx_backup_make(&places, &how, cli_arg(cli, 0), &done, &err);
	explicit_bzero(buf, sizeof(buf));
	if (r < 0)
		return cli_fail_err(r, &err);
	code = say_made(cli, cli_arg(cli, 0), &done);
	phx_backup_done_fini(&done);
	return code;
}

/* ---- restore ---- */

/* Images and packages that the head had, and that are not where it is now. */
static json_t *missing_of(const struct phx_backup_done *d, const char *state_dir)
{
	json_t *list = json_array();
	PHX_LIST_EACH(struct phx_backup_file, f, &d->manifest.catalog) {
		PHX_AUTO_FREE char *path =
			phx_path("%s/%s", state_dir, f->path + strlen(PHX_BACKUP_STATE));
		if (path && access(path, F_OK) < 0)
			json_array_append_new(list, json_string(f->path));
	}
	return list;
}

static void say_missing(const json_t *missing)
{
	size_t i;
	json_t *name;
	json_array_foreach((json_t *)missing, i, name) {
		if (i < NAMED_MAX)
			fprintf(stderr, "phx: the head had, and has not now: %s\n",
				json_string_value(name));
	}
	if (i > NAMED_MAX)
		fprintf(stderr, "phx: the head had, and has not now: %zu more files\n",
			i - NAMED_MAX);
}

static void say_proof(const struct phx_backup_done *d)
{
	if (d->taken)
		printf("event %llu was decided by version %s, otherwise than by this one: what was "
		       "recorded is taken as it is\n",
		       (unsigned long long)d->taken,
		       d->taken_version[0] ? d->taken_version : "(not recorded)");
	printf("%llu events replayed, %llu decisions as they were recorded; events %llu to %llu "
	       "are "
	       "as they were written",
	       (unsigned long long)d->n_events, (unsigned long long)d->n_actions,
	       (unsigned long long)d->first, (unsigned long long)d->last);
	if (d->n_anchors)
		printf(", %u anchors fit", d->n_anchors);
	printf("\n");
}

static void say_placed(const struct phx_restore_how *how, const struct phx_backup_done *d)
{
	if (how->check) {
		printf("nothing was restored (--dry-run)\n");
		return;
	}
	printf("%s is the head as of event %llu\n", how->state_dir,
	       (unsigned long long)d->manifest.seq);
	if (how->etc_dir)
		printf("%s is its configuration\n", how->etc_dir);
	if (d->old_state[0])
		printf("what was there is %s\n", d->old_state);
	if (d->old_etc[0])
		printf("what was there is %s\n", d->old_etc);
	fprintf(stderr,
		"phx: see to it that the former head does not run any more, then start "
		"phxd\n");
}

static int say_restored(struct cli *cli, const struct phx_restore_how *how,
			const struct phx_backup_done *d)
{
	PHX_AUTO_JSON json_t *missing = how->check ? json_array() : missing_of(d, how->state_dir);
	if (cli_structured(cli)) {
		PHX_AUTO_JSON json_t *j = json_pack(
			"{s:b,s:I,s:I,s:I,s:I,s:s,s:s,s:s,s:O}", "placed", !how->check, "event",
			(json_int_t)d->manifest.seq, "replayed", (json_int_t)d->n_events,
			"decisions", (json_int_t)d->n_actions, "anchors", (json_int_t)d->n_anchors,
			"version", d->manifest.version, "old_state", d->old_state, "old_etc",
			d->old_etc, "missing", missing);
		return cli_print_value(cli, j);
	}
	say_proof(d);
	say_placed(how, d);
	say_missing(missing);
	return CLI_OK;
}

int cmd_restore(struct cli *cli)
{
	char buf[PHX_PASSPHRASE_MAX];
	struct phx_backup_done done = {0};
	struct phx_err err = {0};
	struct phx_restore_how how = {.state_dir = cli_opt(cli, CLI_OPT_state, NULL),
				      .etc_dir = cli_opt(cli, CLI_OPT_etc, NULL),
				      .pub = cli_opt(cli, CLI_OPT_pub, NULL),
				      .force = cli_has(cli, CLI_OPT_force),
				      .keep = cli_has(cli, CLI_OPT_keep),
				      .check = cli_has(cli, CLI_OPT_dry_run)};
	if (!how.state_dir)
		return cli_fail(CLI_USAGE,
				"say by --state which directory is to become the head's "
				"(state_dir of phoenix.conf)");
	int code = read_passphrase(cli, buf, &how.passphrase);
	if (code)
		return code;
	int r = phx_backup_restore(cli_arg(cli, 0), &how, &done, &err);
	explicit_bzero(buf, sizeof(buf));
	if (r < 0)
		return cli_fail_err(r, &err);
	code = say_restored(cli, &how, &done);
	phx_backup_done_fini(&done);
	return code;
}
