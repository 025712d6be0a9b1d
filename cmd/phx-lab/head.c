/* The lab's head: phxd in the lab's namespace, with a configuration, images and
 * roles of its own below the lab's directory. Called by main.c. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/spawn.h"
#include "config/config.h"
#include "config/site.h"
#include "deploy/store.h"
#include "http/http.h"
#include "phx-lab/lab.h"
#include "pki/ring.h"

enum {
	READY_MS = 15000,
	READY_FIRST_MS = 20,
	READY_MOST_MS = 500,
	STOP_MS = 10000,
	CALL_MS = 5000,
	CONF_MAX = 1 << 16,
	PUB_MAX = 4096
};

/* ---- configuration ---- */

static int write_conf(const struct lab *lab, struct phx_err *err)
{
	int net = (int)(strrchr(lab->subnet, '.') - lab->subnet);
	PHX_AUTO_FREE char *more = lab_nets_head_conf(lab);
	PHX_AUTO_FREE char *path = phx_path("%s/etc/phoenix.conf", lab->dir);
	PHX_AUTO_FREE char *text = phx_path(
		"# the head of lab %s; made by phx lab up\n"
		"state_dir = \"%s/state\";\n"
		"run_dir = \"%s/run\";\n"
		"socket = \"%s/phxd.sock\";\n"
		"bmc_dir = \"%s/etc\";\n"
		"role_dir = \"%s/roles\";\n"
		"rules_file = \"%s/roles/rules.conf\";\n"
		"pxe_dir = \"%s/pxe\";\n"
		"interface = \"" LAB_BRIDGE "\";\n"
		"address = \"%.*s.%d\";\n"
		"dhcp_range = \"%.*s.%d,%.*s.%d\";\n"
		"deploy_image = \"%s\";\n"
		/* a busy host lets the kernel's test of its timer fail: it panics */
		"kernel_args = \"console=ttyS0,115200 quiet no_timer_check\";\n"
		/* the lab may lie where only root may read */
		"dnsmasq_user = \"root\";\n%s",
		lab->name, lab->dir, lab->dir, lab->dir, lab->dir, lab->source, lab->source,
		lab->source, net, lab->subnet, LAB_HOST_HEAD, net, lab->subnet, LAB_HOST_RANGE, net,
		lab->subnet, LAB_HOST_BMCS - 1, lab->deploy_image, more ? more : "");
	return more && path && text ? phx_file_write(path, text, strlen(text), 0644, err) : -ENOMEM;
}

/* What lab.conf's head_conf names becomes a file of conf.d. */
static int write_more_conf(const struct lab *lab, struct phx_err *err)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/etc/conf.d", lab->dir);
	PHX_AUTO_FREE char *path = phx_path("%s/etc/conf.d/lab.conf", lab->dir);
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	int r = dir && path ? phx_dir_make(dir, 0755, err) : -ENOMEM;
	if (r < 0 || !lab->head_conf[0])
		return r;
	r = phx_file_read(lab->head_conf, CONF_MAX, &text, &n, err);
	return r < 0 ? r : phx_file_write(path, text, n, 0644, err);
}

/* Other networks of the lab are settings of its site. */
static int write_networks(const struct lab *lab, struct phx_err *err)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/etc/site", lab->dir);
	PHX_AUTO_FREE char *path = phx_path("%s/etc/site/networks.conf", lab->dir);
	PHX_AUTO_FREE char *text = lab_nets_conf(lab);
	if (!dir || !path || !text)
		return -ENOMEM;
	if (!lab->networks.n)
		return 0;
	int r = phx_dir_make(dir, 0755, err);
	return r < 0 ? r : phx_file_write(path, text, strlen(text), 0644, err);
}

/* ---- its users ---- */

/* The first of these that other users do not get through, on the way to `path`; malloc'd. */
static char *closed_on_the_way(const char *path)
{
	PHX_AUTO_FREE char *at = strdup(path);
	char *end = at ? at + strlen(at) : NULL;
	struct stat st;
	bool closed = false;
	while (end && end != at && !closed) {
		*end = '\0';
		closed = stat(at, &st) == 0 && !(st.st_mode & S_IXOTH);
		end = strrchr(at, '/');
	}
	return closed ? PHX_TAKE(at) : NULL;
}

static bool is_missing(const char *user)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	return user[0] && phx_user_named(user, &pw, &texts) < 0;
}

/* Why phxd's processes cannot be users of their own here, malloc'd; NULL: they can. */
static char *why_root(const struct lab *lab, const struct phx_config *cfg)
{
	const char *const users[] = {cfg->head_user, cfg->vault_user, cfg->hands_user};
	PHX_AUTO_FREE char *dir = closed_on_the_way(lab->dir);
	PHX_AUTO_FREE char *source = dir ? NULL : closed_on_the_way(lab->source);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(users); i++)
		if (is_missing(users[i]))
			return phx_path("there is no user %s (systemd-sysusers)", users[i]);
	return dir || source ? phx_path("%s is closed to others", dir ? dir : source) : NULL;
}

/* A lab works wherever it lies; that its phxd is root alone is told. */
static int write_users(const struct lab *lab, struct phx_err *err)
{
	static const char text[] = "head_user = \"\"; vault_user = \"\"; hands_user = \"\";\n";
	PHX_AUTO_FREE char *conf = phx_path("%s/etc/phoenix.conf", lab->dir);
	PHX_AUTO_FREE char *path = phx_path("%s/etc/conf.d/users.conf", lab->dir);
	struct phx_config cfg;
	int r = conf && path ? phx_config_load(conf, &cfg, err) : -ENOMEM;
	if (r < 0)
		return r;
	PHX_AUTO_FREE char *why = why_root(lab, &cfg);
	phx_config_fini(&cfg);
	if (!why)
		return 0;
	fprintf(stderr, "phx lab: all processes of this lab's phxd are root: %s\n", why);
	return phx_file_write(path, text, strlen(text), 0644, err);
}

/* ---- images ---- */

static int add_image(const struct lab *lab, const char *name, struct phx_err *err)
{
	PHX_AUTO_FREE char *store = phx_path("%s/state/images", lab->dir);
	PHX_AUTO_FREE char *from = phx_path("%s/%s", lab->images, name);
	PHX_AUTO_FREE char *manifest = phx_path("%s/%s/" PHX_IMAGE_MANIFEST, lab->images, name);
	PHX_AUTO_FREE char *key = phx_path("%s/package.key", lab->dir), *added = NULL;
	struct phx_image im;
	if (!store || !from || !manifest || !key)
		return -ENOMEM;
	if (access(manifest, F_OK) < 0)
		return 0;
	int r = phx_dir_make(store, 0755, err);
	if (r == 0)
		r = phx_images_add(store, from, &im, err);
	if (r < 0)
		return r;
	added = phx_path("%s/%s/%s", store, im.name, im.version);
	r = added ? phx_image_dir_sign(added, key, NULL, err) : -ENOMEM;
	phx_record_fini(&phx_image_record, &im);
	return r;
}

/* All images that are built; the deploy image must be among them. */
static int add_images(const struct lab *lab, struct phx_err *err)
{
	PHX_AUTO_FREE char *need =
		phx_path("%s/%s/" PHX_IMAGE_MANIFEST, lab->images, lab->deploy_image);
	DIR *d = need && access(need, F_OK) == 0 ? opendir(lab->images) : NULL;
	if (!d)
		return phx_err_set(err, -ENOENT,
				   "image %s is not built in %s; build it with: make images",
				   lab->deploy_image, lab->images);
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));)
		if (e->d_name[0] != '.')
			r = add_image(lab, e->d_name, err);
	closedir(d);
	return r;
}

/* ---- phxd ---- */

static char *pid_path(const struct lab *lab)
{
	return phx_path("%s/phxd.pid", lab->dir);
}

int lab_head_pid(const struct lab *lab)
{
	PHX_AUTO_FREE char *pid = pid_path(lab);
	return pid ? phx_process_noted(pid) : 0;
}

/* *ret: the answer, owned by the caller. */
static int ask(const struct lab *lab, const char *method, const char *path, const json_t *body,
	       json_t **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *sock = phx_path("%s/phxd.sock", lab->dir);
	struct phx_http_client_config config = {.unix_path = sock, .base_url = "http://phxd"};
	struct phx_http_client *c = NULL;
	int r = sock ? phx_http_client_new(&config, &c, err) : -ENOMEM;
	if (r == 0)
		r = phx_http_call_json(c, method, path, body, CALL_MS, ret, err);
	phx_http_client_free(c);
	return r;
}

static int call(const struct lab *lab, const char *method, const char *path, const json_t *body,
		struct phx_err *err)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	return ask(lab, method, path, body, &answer, err);
}

static int wait_ready(const struct lab *lab, struct phx_err *err)
{
	int64_t end_ms = phx_clock_ms() + READY_MS;
	struct phx_again again = {READY_FIRST_MS, READY_MOST_MS, 0};
	do {
		if (call(lab, "GET", "/v1/status", NULL, NULL) == 0)
			return 0;
	} while (lab_head_pid(lab) && phx_again(&again, end_ms));
	return phx_err_set(err, lab_head_pid(lab) ? -ETIMEDOUT : -EIO,
			   "phxd does not serve; see %s/phxd.log", lab->dir);
}

/* What a program that ended with an error said last: before that come notices. */
static int say_last(const char *program, const struct phx_run_result *res, struct phx_err *err)
{
	size_t n = strlen(res->errout), from;
	while (n && res->errout[n - 1] == '\n')
		n--;
	for (from = n; from && res->errout[from - 1] != '\n'; from--)
		;
	return phx_err_set(err, -EIO, "%s: exit status %d%s%.*s", program, res->status,
			   n ? ": " : "", (int)(n - from), res->errout + from);
}

/* The images of a new lab are there before its first start, which phxd does not take for one. Of a
 * lab that had a journal (its mark says so) phxd says itself that it is missing. */
static int begin_journal(const struct lab *lab, const char *phxd, const char *conf,
			 struct phx_err *err)
{
	PHX_AUTO_FREE char *journal = phx_path("%s/state/journal.db", lab->dir);
	const char *const argv[] = {phxd, "-c", conf, "--new-journal", NULL};
	const struct phx_run run = {.argv = argv};
	struct phx_run_result res;
	PHX_AUTO_FREE char *mark = phx_path("%s/state/journal.db.mark", lab->dir);
	if (!journal || !mark)
		return -ENOMEM;
	if (access(journal, F_OK) == 0 || access(mark, F_OK) == 0)
		return 0;
	int r = phx_run(&run, &res, err);
	if (r < 0)
		return r;
	r = res.status ? say_last(phxd, &res, err) : 0;
	phx_run_result_fini(&res);
	return r;
}

/* Beside us in the tree; in an installation we are in libexec/phoenix. */
static char *find_phxd(void)
{
	char *beside = phx_run_beside("phxd");
	if (!beside || access(beside, X_OK) == 0)
		return beside;
	free(beside);
	return phx_run_beside("../../sbin/phxd");
}

static int start_phxd(const struct lab *lab, struct phx_err *err)
{
	char ns[LAB_NAME_MAX + 8];
	PHX_AUTO_FREE char *phxd = find_phxd();
	PHX_AUTO_FREE char *conf = phx_path("%s/etc/phoenix.conf", lab->dir);
	PHX_AUTO_FREE char *log = phx_path("%s/phxd.log", lab->dir);
	PHX_AUTO_FREE char *pid = pid_path(lab);
	if (!phxd || !conf || !log || !pid)
		return -ENOMEM;
	const char *const argv[] = {phxd, "-c", conf, NULL};
	const struct lab_program p = {.argv = argv,
				      .netns = lab_netns(lab, ns),
				      .pid_file = pid,
				      .log_file = log,
				      .work_dir = lab->dir};
	int r = begin_journal(lab, phxd, conf, err);
	return r < 0 ? r : lab_start(&p, err);
}

/* Packages and images of a lab are signed with DIR/package.key; its head has the public half. */
static int make_package_key(const struct lab *lab, struct phx_err *err)
{
	PHX_AUTO_FREE char *key = phx_path("%s/package.key", lab->dir);
	PHX_AUTO_FREE char *dir = phx_path("%s/state/package-keys", lab->dir);
	PHX_AUTO_FREE char *believed = phx_path("%s/state/package-keys/lab.pub", lab->dir);
	PHX_AUTO_FREE char *pub = NULL, *pem = NULL;
	size_t n;
	if (!key || !dir || !believed)
		return -ENOMEM;
	if (access(key, F_OK) == 0)
		return 0;
	int r = phx_sign_key_new(key, &pub, err);
	r = r ? r : phx_file_read(pub, PUB_MAX, &pem, &n, err);
	r = r ? r : phx_dir_make(dir, 0755, err);
	return r ? r : phx_file_write(believed, pem, n, 0644, err);
}

int lab_head_prepare(const struct lab *lab, struct phx_err *err)
{
	int r = write_conf(lab, err);
	if (r == 0)
		r = make_package_key(lab, err);
	if (r == 0)
		r = write_more_conf(lab, err);
	if (r == 0)
		r = write_networks(lab, err);
	if (r == 0)
		r = write_users(lab, err);
	return r < 0 ? r : add_images(lab, err);
}

int lab_head_start(const struct lab *lab, struct phx_err *err)
{
	int r = lab_head_pid(lab) ? 0 : start_phxd(lab, err);
	return r < 0 ? r : wait_ready(lab, err);
}

static void say_first(void *err, const char *text)
{
	phx_err_set(err, -EINVAL, "%s", text);
}

int lab_head_networks(const struct lab *lab, struct phx_err *err)
{
	struct phx_site site;
	PHX_AUTO_FREE char *dir = phx_path("%s/etc/site", lab->dir);
	PHX_AUTO_JSON json_t *body = NULL, *answer = NULL;
	if (!dir || !lab->networks.n)
		return dir ? 0 : -ENOMEM;
	int r = phx_site_load(dir, say_first, err, &site, err);
	if (r)
		return -EINVAL;
	body = json_pack("{s:o,s:b}", "site", phx_json_from_record(&phx_site_record, &site),
			 "dry_run", 0);
	phx_record_fini(&phx_site_record, &site);
	r = body ? ask(lab, "POST", "/v1/site", body, &answer, err) : -ENOMEM;
	const char *wrong = json_string_value(json_array_get(json_object_get(answer, "errors"), 0));
	return r == 0 && wrong ? phx_err_set(err, -EINVAL, "%s", wrong) : r;
}

int lab_head_stop(const struct lab *lab, struct phx_err *err)
{
	PHX_AUTO_FREE char *pid = pid_path(lab);
	return pid ? phx_process_end_noted(pid, false, STOP_MS, err) : -ENOMEM;
}

/* ---- announcing ---- */

static json_t *bmc_json(const struct lab *lab, const struct lab_machine *m)
{
	PHX_AUTO_FREE char *password = lab_bmc_password_path(lab);
	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "driver", "ipmi", "address", m->bmc_ip,
			 "user", LAB_BMC_USER, "password_file", password ? password : "",
			 "workarounds", "opensesspriv");
}

int lab_head_announce(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:s, s:[s], s:s, s:s, s:s, s:b}", "name", m->name, "macs", m->mac,
			  "serial", m->serial, "uuid", m->uuid, "ip", m->ip, "hold", 1);
	if (!j || (m->bmc && json_object_set_new(j, "bmc", bmc_json(lab, m)) < 0))
		return -ENOMEM;
	int r = call(lab, "POST", "/v1/nodes", j, err);
	return r < 0 ? phx_err_prefix(err, r, "announcing %s", m->name) : 0;
}
