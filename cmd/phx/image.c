/* phx image: the head's image store. Works on the directory itself (on the
 * head), then has phxd read it again; never removes what a role still names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/spawn.h"
#include "base/tree.h"
#include "deploy/catalog.h"
#include "deploy/publish.h"
#include "phx/cli.h"
#include "phx/image.h"

enum { IMAGES_TIMEOUT_MS = 30000 };

#define VERSION_ENV "PHX_IMAGE_VERSION"

const char *cli_image_store(struct cli *cli)
{
	const char *dir = cli_opt(cli, CLI_OPT_dir, NULL);
	return dir ? dir : cli_head_dir(cli, "image_dir");
}

/* After a change of the head's own store. */
static int changed(struct cli *cli)
{
	return cli_has(cli, CLI_OPT_dir) ? CLI_OK : cli_tell_changed(cli, true);
}

/* ---- list, show, verify ---- */

static void put_bytes(struct phx_buf *b, const json_t *value, const json_t *row)
{
	json_int_t sum = 0;
	size_t i;
	json_t *file;
	if (!value) /* a user is told names alone */
		return;
	json_array_foreach((json_t *)value, i, file)
		sum += phx_json_int(file, "size", 0);
	PHX_AUTO_JSON json_t *n = json_integer(sum);
	cli_put_size(b, n, row);
}

static const struct cli_column image_columns[] = {
	{.head = "IMAGE", .path = "name"},
	{.head = "VERSION", .path = "version"},
	{.head = "KIND", .path = "kind"},
	{.head = "ARCH", .path = "architecture"},
	{.head = "KERNEL", .path = "kernel_release"},
	{.head = "RUNS", .path = "runs_kernel", .wide = true},
	{.head = "SIZE", .path = "files", .put = put_bytes, .right = true},
	{.head = "SIGNED BY", .path = "signed_by", .wide = true},
	{.head = "DIGEST", .path = "digest", .put = cli_put_digest},
};

/* {"images", "bad"} of --dir, else what phxd tells. */
static int get_images(struct cli *cli, json_t **ret)
{
	const char *dir = cli_opt(cli, CLI_OPT_dir, NULL),
		   *deploy = dir ? cli_head_value(cli, "deploy_image") : "";
	struct phx_err err = {0};
	if (!dir)
		return cli_get(cli, "/v1/images", ret);
	if (!deploy)
		return cli->head_code;
	struct phx_image_trust trust;
	int code = cli_image_trust(cli, &trust);
	if (code)
		return code;
	*ret = phx_images_json(dir, deploy, &trust, &err);
	free(trust.ring);
	return *ret ? CLI_OK : cli_fail_err(-EIO, &err);
}

/* Those that cannot be used: told, and the command's status. */
static int tell_bad(const json_t *answer)
{
	size_t i;
	json_t *bad;
	json_array_foreach(json_object_get(answer, "bad"), i, bad)
		cli_fail(CLI_PARTIAL, "%s: %s", phx_json_str(bad, "path", "?"),
			 phx_json_str(bad, "reason", "?"));
	return json_array_size(json_object_get(answer, "bad")) ? CLI_PARTIAL : CLI_OK;
}

int cmd_image_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = get_images(cli, &answer);
	if (code)
		return code;
	int bad = tell_bad(answer);
	code = cli_print_rows(cli, image_columns, PHX_ARRAY_SIZE(image_columns),
			      json_object_get(answer, "images"), answer);
	return code ? code : bad;
}

static const struct cli_column image_lines[] = {
	{.head = "Version", .path = "version"},
	{.head = "Kind", .path = "kind"},
	{.head = "Architecture", .path = "architecture"},
	{.head = "Kernel", .path = "kernel_release"},
	{.head = "Nodes run", .path = "runs_kernel"},
	{.head = "System", .path = "os"},
	{.head = "From", .path = "source"},
	{.head = "Made of", .path = "parent"},
	{.head = "Digest", .path = "digest"},
	{.head = "Signed by", .path = "signed_by"},
};

static const struct cli_column file_columns[] = {
	{.head = "FILE", .path = "name"},
	{.head = "SIZE", .path = "size", .put = cli_put_size, .right = true},
	{.head = "UNPACKED", .path = "raw_size", .put = cli_put_size, .right = true},
	{.head = "SHA-256", .path = "sha256"},
};

/* The newest of that name, or the version that is asked for; told when there is none. Borrowed. */
static const json_t *find_image(struct cli *cli, const json_t *answer, const char *name)
{
	const char *version = cli_opt(cli, CLI_OPT_image_version, NULL);
	const json_t *images = json_object_get(answer, "images"), *found = NULL;
	size_t i;
	json_t *im;
	json_array_foreach((json_t *)images, i, im) {
		if (phx_str_eq(phx_json_str(im, "name", ""), name) &&
		    (!version || phx_str_eq(phx_json_str(im, "version", ""), version)))
			found = im;
	}
	const char *near = found ? NULL : cli_nearest(images, "name", name);
	if (!found && near && !phx_str_eq(near, name))
		cli_fail(CLI_USAGE, "there is no image '%s'; did you mean '%s'?", name, near);
	else if (!found)
		cli_fail(CLI_USAGE, "there is no image '%s'%s%s", name,
			 version ? " of version " : "", version ? version : "");
	return found;
}

static void warn_kernel(const json_t *im)
{
	const char *warning = phx_json_str(im, "kernel_warning", NULL);
	if (warning)
		fprintf(stderr, "phx: warning: %s\n", warning);
}

int cmd_image_show(struct cli *cli)
{
	const char *name = cli_arg(cli, 0);
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = get_images(cli, &answer);
	if (code)
		return code;
	int bad = tell_bad(answer);
	const json_t *im = find_image(cli, answer, name);
	if (!im)
		return bad ? bad : CLI_USAGE;
	if (cli_structured(cli))
		return cli_print_value(cli, im);
	printf("%s\n", name);
	cli_print_lines(image_lines, PHX_ARRAY_SIZE(image_lines), im);
	putchar('\n');
	code = cli_print_table(cli, file_columns, PHX_ARRAY_SIZE(file_columns),
			       json_object_get(im, "files"), 2);
	fflush(stdout);
	warn_kernel(im);
	return code;
}

static void put_default(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	phx_buf_addf(b, "%s", json_is_true(value) ? "yes" : "");
}

static const struct cli_column kernel_columns[] = {
	{.head = "KERNEL", .path = "release"},
	{.head = "NODES RUN", .path = "runs", .put = put_default},
	{.head = "FILE", .path = "kernel"},
	{.head = "MODULES", .path = "modules"},
};

/* A kernel without modules of its own is listed, too: it is in the image. */
static json_t *kernels_of(const json_t *im)
{
	json_t *list = json_deep_copy(json_object_get(im, "kernels")), *k;
	const char *runs = phx_json_str(im, "runs_kernel", "");
	size_t i;
	if (!json_array_size(list))
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s}", "release",
						phx_json_str(im, "kernel_release", ""), "kernel",
						PHX_IMAGE_KERNEL, "modules", ""));
	json_array_foreach(list, i, k)
		json_object_set_new(k, "runs",
				    json_boolean(phx_str_eq(phx_json_str(k, "release", ""), runs)));
	return list;
}

int cmd_image_kernels(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = get_images(cli, &answer);
	if (code)
		return code;
	int bad = tell_bad(answer);
	const json_t *im = find_image(cli, answer, cli_arg(cli, 0));
	if (!im)
		return bad ? bad : CLI_USAGE;
	PHX_AUTO_JSON json_t *list = kernels_of(im);
	code = cli_print_rows(cli, kernel_columns, PHX_ARRAY_SIZE(kernel_columns), list, list);
	fflush(stdout);
	warn_kernel(im);
	return code;
}

static int verify_version(const char *dir, const struct phx_image *im)
{
	struct phx_err err = {0};
	int r = phx_images_verify(dir, im->name, im->version, &err);
	if (r < 0)
		return cli_fail(CLI_PARTIAL, "%s %s: %s", im->name, im->version, err.text);
	printf("%s %s: every digest is right\n", im->name, im->version);
	return CLI_OK;
}

/* All versions of `name` (NULL: of every image). */
static int verify_all(const char *dir, const char *name)
{
	struct phx_list images = {0}, bad = {0};
	struct phx_err err = {0};
	int r = phx_images_list(dir, &images, &bad, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	int code = CLI_OK;
	unsigned n = 0;
	PHX_LIST_EACH(struct phx_image, im, &images) {
		if (name && !phx_str_eq(im->name, name))
			continue;
		int c = verify_version(dir, im);
		code = c ? c : code;
		n++;
	}
	PHX_LIST_EACH(struct phx_image_bad, b, &bad)
		if (!name || strstr(b->path, name))
			code = cli_fail(CLI_PARTIAL, "%s: %s", b->path, b->reason);
	phx_images_fini(&images);
	phx_list_fini(&bad);
	if (name && !n && code == CLI_OK)
		return cli_fail(CLI_USAGE, "%s: there is no image '%s'", dir, name);
	return code;
}

int cmd_image_verify(struct cli *cli)
{
	const char *dir = cli_image_store(cli);
	int code = CLI_OK;
	if (!dir)
		return cli->head_code;
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		int c = verify_all(dir, cli_arg(cli, i));
		code = c ? c : code;
	}
	return cli->args.n_args ? code : verify_all(dir, NULL);
}

/* ---- sign ---- */

/* Sign the image in `path`, if there is a key to do it with; else it is told that it is not. */
static int sign_made(struct cli *cli, const char *path)
{
	PHX_AUTO_FREE char *key = cli_sign_key(cli);
	struct phx_err err = {0};
	if (!key)
		return cli_fail(CLI_PARTIAL, "out of memory");
	if (!cli_has(cli, CLI_OPT_sign_key) && access(key, F_OK) < 0) {
		fprintf(stderr, "phx: it is not signed, as there is no %s: phx image sign\n", key);
		return CLI_OK;
	}
	int r = phx_image_dir_sign(path, key, NULL, &err);
	return r < 0 ? cli_fail_err(r, &err) : CLI_OK;
}

int cmd_image_sign(struct cli *cli)
{
	PHX_AUTO_FREE char *key = cli_sign_key(cli);
	int code = key ? CLI_OK : cli_fail(CLI_PARTIAL, "out of memory");
	for (unsigned i = 0; key && i < cli->args.n_args; i++) {
		struct phx_err err = {0};
		struct phx_image im;
		int r = phx_image_dir_sign(cli_arg(cli, i), key, &im, &err);
		if (r < 0) {
			code = cli_fail_err(r, &err);
			continue;
		}
		printf("%s: %s %s\n", cli_arg(cli, i), im.name, im.version);
		phx_record_fini(&phx_image_record, &im);
	}
	return code;
}

/* ---- build, add, import ---- */

/* Which kernel nodes of the new image run, where that is not its own. */
static void tell_kernel(struct cli *cli, const struct phx_image *im)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	struct phx_err err = {0};
	size_t i;
	json_t *j;
	if (!cli_has(cli, CLI_OPT_dir))
		cli_call_quiet(cli, "GET", "/v1/images", NULL, IMAGES_TIMEOUT_MS, &answer, &err);
	json_array_foreach(json_object_get(answer, "images"), i, j) {
		if (phx_str_eq(phx_json_str(j, "digest", ""), im->digest))
			warn_kernel(j);
	}
}

static int tell_added(struct cli *cli, const struct phx_image *im)
{
	if (cli_structured(cli)) {
		PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_image_record, im);
		cli_print_value(cli, j);
	} else {
		printf("%s %s\n", im->name, im->version);
	}
	int code = changed(cli);
	tell_kernel(cli, im);
	return code;
}

/* Run the recipe with our stderr as its output; minutes. */
static int run_recipe(const char *recipe, const char *out, const char *bundle)
{
	const char *const argv[] = {recipe, out, bundle, NULL};
	const struct phx_launch l = {.argv = argv, .out = STDERR_FILENO};
	struct phx_process p;
	struct phx_err err = {0};
	if (phx_process_start(&l, &p, &err) < 0)
		return cli_fail(CLI_PARTIAL, "%s", err.text);
	int status = phx_process_status(p.pidfd);
	close(p.pidfd);
	return status == 0 ? CLI_OK
			   : cli_fail(CLI_PARTIAL, "%s failed with status %d", recipe, status);
}

static int add_built(struct cli *cli, const char *src)
{
	const char *dir = cli_image_store(cli);
	struct phx_err err = {0};
	struct phx_image im;
	if (!dir)
		return cli->head_code;
	int r = phx_images_add(dir, src, &im, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	int code = tell_added(cli, &im);
	phx_record_fini(&phx_image_record, &im);
	return code;
}

int cmd_image_add(struct cli *cli)
{
	return add_built(cli, cli_arg(cli, 0));
}

/* Tells the recipe which version it is to make, in place of that of image.conf. */
static int ask_version(struct cli *cli, const char *name)
{
	const char *version = cli_opt(cli, CLI_OPT_image_version, NULL);
	struct phx_err err = {0};
	if (!version)
		return unsetenv(VERSION_ENV) < 0 ? CLI_PARTIAL : CLI_OK;
	int r = phx_image_names_check(name, version, &err);
	r = r ? r : setenv(VERSION_ENV, version, 1) < 0 ? -ENOMEM : 0;
	return r < 0 ? cli_fail_err(r, &err) : CLI_OK;
}

/* A recipe that is not of Phoenix may not know of it. */
static int check_version(struct cli *cli, const char *recipe, const char *made)
{
	const char *version = cli_opt(cli, CLI_OPT_image_version, NULL);
	struct phx_err err = {0};
	struct phx_image im;
	int r = version ? phx_image_dir_read(made, &im, &err) : 0;
	if (r < 0)
		return cli_fail_err(r, &err);
	int code = !version || phx_str_eq(im.version, version)
		? CLI_OK
		: cli_fail(CLI_CONFIG, "%s made version %s: it does not ask " VERSION_ENV, recipe,
			   im.version);
	if (version)
		phx_record_fini(&phx_image_record, &im);
	return code;
}

int cmd_image_build(struct cli *cli)
{
	const char *src = cli_arg(cli, 0), *out = cli_opt(cli, CLI_OPT_out, NULL);
	PHX_AUTO_FREE char *conf_path = phx_path("%s/image.conf", src),
			   *recipe = phx_path("%s/build", src);
	char temporary[] = "/var/tmp/phx-image.XXXXXX";
	struct phx_image_conf conf;
	struct phx_err err = {0};
	int r = conf_path && recipe ? phx_image_conf_load(conf_path, &conf, &err) : -ENOMEM;
	if (r < 0)
		return cli_fail(CLI_CONFIG, "%s", err.text);
	if (access(recipe, X_OK) < 0)
		return cli_fail(CLI_CONFIG, "%s: %s", recipe, strerror(errno));
	int code = ask_version(cli, conf.name);
	if (code)
		return code;
	if (!out && !mkdtemp(temporary))
		return cli_fail(CLI_TRY_AGAIN, "%s: %s", temporary, strerror(errno));
	code = run_recipe(recipe, out ? out : temporary, cli_opt(cli, CLI_OPT_agent_bundle, NULL));
	if (!code)
		code = check_version(cli, recipe, out ? out : temporary);
	if (!code)
		code = sign_made(cli, out ? out : temporary);
	if (out)
		return code;
	if (!code)
		code = add_built(cli, temporary);
	phx_dir_remove(temporary, NULL);
	return code;
}

int cli_image_made(struct cli *cli, const char *dir, const struct phx_image *im)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s/%s", dir, im->name, im->version);
	int code = path ? sign_made(cli, path) : cli_fail(CLI_PARTIAL, "out of memory");
	return code ? code : tell_added(cli, im);
}

char *cli_image_tools(void)
{
	PHX_AUTO_FREE char *program = phx_run_beside("../share/phoenix/images/pack-modules");
	char *dir = program && access(program, X_OK) == 0 ? realpath(program, NULL) : NULL;
	if (!dir)
		cli_fail(CLI_CONFIG, "%s is missing: install it",
			 program ? program : "share/phoenix/images/pack-modules");
	else
		*strrchr(dir, '/') = '\0';
	return dir;
}

int cmd_image_import(struct cli *cli)
{
	const char *dir = cli_image_store(cli);
	PHX_AUTO_FREE char *tools = dir ? cli_image_tools() : NULL;
	struct phx_image_import how = {
		.source = cli_arg(cli, 0),
		.name = cli_opt(cli, CLI_OPT_image_name, NULL),
		.version = cli_opt(cli, CLI_OPT_image_version, NULL),
		.no_squashfs = cli_has(cli, CLI_OPT_no_squashfs),
		.kernel = cli_opt(cli, CLI_OPT_kernel, NULL),
		.tools = tools,
	};
	struct phx_err err = {0};
	struct phx_image im;
	if (!dir)
		return cli->head_code;
	if (!tools)
		return CLI_CONFIG;
	phx_size_parse(cli_opt(cli, CLI_OPT_disk_size, "0"), &how.disk_bytes);
	phx_size_parse(cli_opt(cli, CLI_OPT_max_size, "0"), &how.max_bytes);
	int code = cli_image_drivers(cli, &how.drivers);
	int r = code ? 0 : phx_images_import(dir, &how, &im, &err);
	phx_list_fini(&how.drivers);
	if (code)
		return code;
	if (r < 0)
		return cli_fail_err(r, &err);
	code = cli_image_made(cli, dir, &im);
	phx_record_fini(&phx_image_record, &im);
	return code;
}

/* ---- rm ---- */

/* Does a role, or the configuration, still name it? Told. */
static int check_unused(struct cli *cli, const char *name)
{
	if (cli_has(cli, CLI_OPT_dir))
		return CLI_OK;
	const char *deploy = cli_head_value(cli, "deploy_image");
	if (phx_str_eq(deploy, name))
		return cli_fail(CLI_USAGE, "%s is the image every node boots (deploy_image)", name);
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = deploy ? cli_get(cli, "/v1/roles", &answer) : cli->head_code;
	size_t i;
	json_t *role;
	json_array_foreach(json_object_get(answer, "roles"), i, role) {
		if (phx_str_eq(phx_json_str(role, "image", ""), name))
			return cli_fail(CLI_USAGE, "%s is the image of role %s", name,
					phx_json_str(role, "name", "?"));
	}
	return code;
}

static int remove_versions(const char *dir, const char *name, const char *version)
{
	struct phx_list images = {0};
	struct phx_err err = {0};
	int r = phx_images_list(dir, &images, NULL, &err);
	unsigned n = 0;
	PHX_LIST_EACH(struct phx_image, im, &images) {
		if (r < 0 || !phx_str_eq(im->name, name) ||
		    (version && !phx_str_eq(im->version, version)))
			continue;
		n++;
		r = phx_images_remove(dir, name, im->version, &err);
	}
	phx_images_fini(&images);
	if (r < 0)
		return cli_fail_err(r, &err);
	if (!n)
		fprintf(stderr, "phx: %s%s%s is not there\n", name, version ? " " : "",
			version ? version : "");
	return CLI_OK;
}

int cmd_image_rm(struct cli *cli)
{
	const char *dir = cli_image_store(cli), *name = cli_arg(cli, 0);
	const char *version = cli_opt(cli, CLI_OPT_image_version, NULL);
	if (!dir)
		return cli->head_code;
	int code = version ? CLI_OK : check_unused(cli, name);
	PHX_AUTO_FREE char *question = NULL;
	if (code)
		return code;
	if (asprintf(&question, "remove image %s%s%s", name, version ? " " : "",
		     version ? version : "") < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	code = cli_confirm(cli, question, 1);
	if (!code)
		code = remove_versions(dir, name, version);
	return code ? code : changed(cli);
}
