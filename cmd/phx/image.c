/* phx image: the head's image store. Works on the directory itself (on the
 * head), then has phxd read it again; never removes what a role still names. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "deploy/store.h"
#include "phx/cli.h"

/* The store: --dir, else the head's. NULL: told. */
static const char *store_dir(struct cli *cli)
{
	const char *dir = cli_opt(cli, CLI_OPT_dir, NULL);
	if (dir)
		return dir;
	const struct phx_config *cfg = cli_config(cli);
	return cfg ? cfg->image_dir : NULL;
}

/* After a change of the head's own store. */
static int changed(struct cli *cli)
{
	return cli_has(cli, CLI_OPT_dir) ? CLI_OK : cli_tell_changed(cli);
}

static json_t *image_json(const struct phx_image *im)
{
	return phx_json_from_record(&phx_image_record, im);
}

/* ---- list, show, verify ---- */

static void put_bytes(struct phx_buf *b, const json_t *value, const json_t *row)
{
	json_int_t sum = 0;
	size_t i;
	json_t *file;
	json_array_foreach((json_t *)value, i, file) sum += phx_json_int(file, "size", 0);
	PHX_AUTO_JSON json_t *n = json_integer(sum);
	cli_put_size(b, n, row);
}

static const struct cli_column image_columns[] = {
	{.head = "IMAGE", .path = "name"},
	{.head = "VERSION", .path = "version"},
	{.head = "KIND", .path = "kind"},
	{.head = "ARCH", .path = "architecture"},
	{.head = "KERNEL", .path = "kernel_release"},
	{.head = "SIZE", .path = "files", .put = put_bytes, .right = true},
	{.head = "DIGEST", .path = "digest", .put = cli_put_digest},
};

static int list_dir(const char *dir, json_t **ret)
{
	struct phx_list images = {0}, bad = {0};
	struct phx_err err = {0};
	int r = phx_images_list(dir, &images, &bad, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	json_t *rows = json_array();
	PHX_LIST_EACH(struct phx_image, im, &images)
	json_array_append_new(rows, image_json(im));
	PHX_LIST_EACH(struct phx_image_bad, b, &bad)
	cli_fail(CLI_PARTIAL, "%s: %s", b->path, b->reason);
	phx_images_fini(&images);
	int code = bad.n ? CLI_PARTIAL : CLI_OK;
	phx_list_fini(&bad);
	*ret = json_pack("{s:o}", "images", rows);
	return code;
}

int cmd_image_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	const char *dir = cli_opt(cli, CLI_OPT_dir, NULL);
	int code = dir ? list_dir(dir, &answer) : cli_get(cli, "/v1/images", &answer);
	if (!answer)
		return code;
	int printed = cli_print_rows(cli, image_columns, PHX_ARRAY_SIZE(image_columns),
				     json_object_get(answer, "images"), answer);
	return code ? code : printed;
}

static const struct cli_column image_lines[] = {
	{.head = "Version", .path = "version"},
	{.head = "Kind", .path = "kind"},
	{.head = "Architecture", .path = "architecture"},
	{.head = "Kernel", .path = "kernel_release"},
	{.head = "Digest", .path = "digest"},
};

static const struct cli_column file_columns[] = {
	{.head = "FILE", .path = "name"},
	{.head = "SIZE", .path = "size", .put = cli_put_size, .right = true},
	{.head = "UNPACKED", .path = "raw_size", .put = cli_put_size, .right = true},
	{.head = "SHA-256", .path = "sha256"},
};

int cmd_image_show(struct cli *cli)
{
	const char *dir = store_dir(cli), *name = cli_arg(cli, 0);
	struct phx_err err = {0};
	struct phx_image im;
	if (!dir)
		return CLI_CONFIG;
	int r = phx_images_find(dir, name, cli_opt(cli, CLI_OPT_image_version, NULL), &im, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	PHX_AUTO_JSON json_t *j = image_json(&im);
	phx_record_fini(&phx_image_record, &im);
	if (cli_structured(cli))
		return cli_print_value(cli, j);
	printf("%s\n", name);
	cli_print_lines(image_lines, PHX_ARRAY_SIZE(image_lines), j);
	putchar('\n');
	return cli_print_table(cli, file_columns, PHX_ARRAY_SIZE(file_columns), json_object_get(j, "files"), 2);
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
	PHX_LIST_EACH(struct phx_image, im, &images)
	{
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
	const char *dir = store_dir(cli);
	int code = CLI_OK;
	if (!dir)
		return CLI_CONFIG;
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		int c = verify_all(dir, cli_arg(cli, i));
		code = c ? c : code;
	}
	return cli->args.n_args ? code : verify_all(dir, NULL);
}

/* ---- build, import ---- */

static int tell_added(struct cli *cli, const struct phx_image *im)
{
	if (cli_structured(cli)) {
		PHX_AUTO_JSON json_t *j = image_json(im);
		cli_print_value(cli, j);
	} else {
		printf("%s %s\n", im->name, im->version);
	}
	return changed(cli);
}

/* Run the recipe with our stderr as its output; minutes. */
static int run_recipe(const char *recipe, const char *out, const char *bundle)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0)
		return cli_fail(CLI_TRY_AGAIN, "fork: %s", strerror(errno));
	if (pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl(recipe, recipe, out, bundle, (char *)NULL);
		fprintf(stderr, "phx: %s: %s\n", recipe, strerror(errno));
		_exit(127);
	}
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return CLI_OK;
	return cli_fail(CLI_PARTIAL, "%s failed with status %d", recipe,
			WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static int add_built(struct cli *cli, const char *src)
{
	const char *dir = store_dir(cli);
	struct phx_err err = {0};
	struct phx_image im;
	if (!dir)
		return CLI_CONFIG;
	int r = phx_images_add(dir, src, &im, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	int code = tell_added(cli, &im);
	phx_record_fini(&phx_image_record, &im);
	return code;
}

int cmd_image_build(struct cli *cli)
{
	const char *src = cli_arg(cli, 0), *out = cli_opt(cli, CLI_OPT_out, NULL);
	PHX_AUTO_FREE char *conf_path = phx_path("%s/image.conf", src), *recipe = phx_path("%s/build", src);
	char temporary[] = "/var/tmp/phx-image.XXXXXX";
	struct phx_image_conf conf;
	struct phx_err err = {0};
	int r = conf_path && recipe ? phx_image_conf_load(conf_path, &conf, &err) : -ENOMEM;
	if (r < 0)
		return cli_fail(CLI_CONFIG, "%s", err.text);
	if (access(recipe, X_OK) < 0)
		return cli_fail(CLI_CONFIG, "%s: %s", recipe, strerror(errno));
	if (!out && !mkdtemp(temporary))
		return cli_fail(CLI_TRY_AGAIN, "%s: %s", temporary, strerror(errno));
	int code = run_recipe(recipe, out ? out : temporary, cli_opt(cli, CLI_OPT_agent_bundle, NULL));
	if (out)
		return code;
	if (!code)
		code = add_built(cli, temporary);
	phx_dir_remove(temporary, NULL);
	return code;
}

int cmd_image_import(struct cli *cli)
{
	const char *dir = store_dir(cli);
	struct phx_image_import how = {
		.tar = cli_arg(cli, 0),
		.name = cli_opt(cli, CLI_OPT_image_name, NULL),
		.version = cli_opt(cli, CLI_OPT_image_version, "1"),
		.no_squashfs = cli_has(cli, CLI_OPT_no_squashfs),
	};
	struct phx_err err = {0};
	struct phx_image im;
	if (!dir)
		return CLI_CONFIG;
	if (!how.name)
		return cli_fail(CLI_USAGE, "image import: --image-name is missing");
	phx_size_parse(cli_opt(cli, CLI_OPT_disk_size, "0"), &how.disk_bytes);
	int r = phx_images_import(dir, &how, &im, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	int code = tell_added(cli, &im);
	phx_record_fini(&phx_image_record, &im);
	return code;
}

/* ---- rm ---- */

/* Does a role, or the configuration, still name it? Told. */
static int check_unused(struct cli *cli, const char *name)
{
	if (cli_has(cli, CLI_OPT_dir))
		return CLI_OK;
	const struct phx_config *cfg = cli_config(cli);
	if (cfg && phx_str_eq(cfg->deploy_image, name))
		return cli_fail(CLI_USAGE, "%s is the image every node boots (deploy_image)", name);
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = cfg ? cli_get(cli, "/v1/roles", &answer) : CLI_CONFIG;
	size_t i;
	json_t *role;
	json_array_foreach(json_object_get(answer, "roles"), i, role)
	{
		if (phx_str_eq(phx_json_str(role, "image", ""), name))
			return cli_fail(CLI_USAGE, "%s is the image of role %s", name, phx_json_str(role, "name", "?"));
	}
	return code;
}

static int remove_versions(const char *dir, const char *name, const char *version)
{
	struct phx_list images = {0};
	struct phx_err err = {0};
	int r = phx_images_list(dir, &images, NULL, &err);
	unsigned n = 0;
	PHX_LIST_EACH(struct phx_image, im, &images)
	{
		if (r < 0 || !phx_str_eq(im->name, name) || (version && !phx_str_eq(im->version, version)))
			continue;
		n++;
		r = phx_images_remove(dir, name, im->version, &err);
	}
	phx_images_fini(&images);
	if (r < 0)
		return cli_fail_err(r, &err);
	if (!n)
		fprintf(stderr, "phx: %s%s%s is not there\n", name, version ? " " : "", version ? version : "");
	return CLI_OK;
}

int cmd_image_rm(struct cli *cli)
{
	const char *dir = store_dir(cli), *name = cli_arg(cli, 0);
	const char *version = cli_opt(cli, CLI_OPT_image_version, NULL);
	if (!dir)
		return CLI_CONFIG;
	int code = version ? CLI_OK : check_unused(cli, name);
	PHX_AUTO_FREE char *question = NULL;
	if (code)
		return code;
	if (asprintf(&question, "remove image %s%s%s", name, version ? " " : "", version ? version : "") < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	code = cli_confirm(cli, question, 1);
	if (!code)
		code = remove_versions(dir, name, version);
	return code ? code : changed(cli);
}
