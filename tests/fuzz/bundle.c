/* Settings of the site as an agent gets them: the first byte says whether the head is heard after a
 * change of the network, each line is a bundle, and one without anything comes last. Nothing is
 * written where others may write; what is said to be there is there, and goes with the bundle that
 * lacks it; no text of a file is kept elsewhere; and a network without a head comes back.
 * Parsers: lib/agent/site.c lib/agent/site_files.c lib/agent/site_net.c */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/spawn.h"
#include "agent/accounts.h"
#include "agent/job_user.h"
#include "agent/log.h"
#include "agent/loop.h"
#include "agent/site_net.h"
#include "fuzz/fuzz.h"
#include "http/http.h"

#define IMAGE "root:x:0:0:root:/root:/bin/sh\nbuild:x:1000:1000::/home/build:/bin/sh\n"

static bool head_is_heard;
static const char *bundle_text; /* what the head has for the node; NULL: it was fetched */
static unsigned n_runs;
static bool of_accounts; /* a bundle had files where accounts are */
static int64_t now_ms = 1000;

/* ---- what is around it ---- */

static int fake_run(const struct phx_run *p, struct phx_run_result *ret, struct phx_err *err)
{
	(void)err;
	fuzz_never(!p->argv[0] || p->timeout_ms <= 0);
	n_runs++;
	*ret = (struct phx_run_result){.status = strcmp(p->argv[0], "false") ? 0 : 1};
	ret->errout = strdup("it says why\n");
	return 0;
}

static int fake_run_check(const struct phx_run *p, struct phx_run_result *ret, struct phx_err *err)
{
	(void)ret, (void)err;
	fuzz_never(!p->argv[0]);
	n_runs++;
	return 0;
}

static int fake_call(struct phx_http_client *c, const char *method, const char *path,
		     const json_t *body, uint32_t timeout_ms, json_t **ret, struct phx_err *err)
{
	(void)c, (void)timeout_ms;
	fuzz_never(strcmp(method, "GET") || strcmp(path, "/v1/agent/site") || body);
	const char *text = bundle_text;
	bundle_text = NULL;
	if (text)
		return phx_json_parse(text, strlen(text), ret, err);
	return head_is_heard ? 0 : phx_err_set(err, -EHOSTUNREACH, "no head");
}

#undef LOOP_HELD
#define LOOP_HELD(l) ((void)(l))
#define loop_hold(l) ((void)(l))
#define loop_release(l) ((void)(l))
#define loop_news(l) ((void)(l))
#define loop_work(l, fn, arg) ((void)(l), (fn)(arg), 0)
#define loop_wait(l, due_ms) ((void)(l), (void)(due_ms), false)
#define agent_log(...) ((void)0)
#define accounts_again(members, err) ((void)(err), 0)
#define accounts_has(members, uid) ((uid) % 2)
#define job_user_leave(root, uid) fuzz_never(!(uid))
#define phx_run(p, ret, err) fake_run(p, ret, err)
#define phx_run_check fake_run_check
#define phx_http_call_json fake_call
#define phx_clock_ms() (now_ms)
#define phx_clock_boot_ms() (now_ms)
#define phx_again(again, due_ms) \
	((void)(again), now_ms = now_ms + 4000 < (due_ms) ? now_ms + 4000 : (due_ms))
#define STATE_MAX NET_STATE_MAX
#define RUN_MS NET_RUN_MS
#define keep net_keep
#define run net_run
#include "agent/site_net.c"
#undef STATE_MAX
#undef RUN_MS
#undef keep
#undef run
#include "agent/site.c"

/* ---- the node ---- */

static struct agent_config cfg;
static char base[200];

static const char *at(const char *path)
{
	static char full[600];
	snprintf(full, sizeof(full), "%s/%s", base, path);
	return full;
}

static void put(const char *path, const char *text)
{
	fuzz_never(phx_file_write(at(path), text, strlen(text), 0644, NULL) < 0);
}

/* root: the machine; outside: what is none of the site's, to which a link leads from a directory
 * that everybody may write. */
static void make_node(void)
{
	static const char *const dirs[] = {"root",           "root/etc", "root/home",
					   "root/home/open", "state",    "outside"};
	snprintf(base, sizeof(base), "%s/node", fuzz_dir());
	fuzz_never(phx_dir_remove(base, NULL) < 0 || mkdir(base, 0700) < 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		fuzz_never(mkdir(at(dirs[i]), 0755) < 0);
	put("root/etc/passwd", IMAGE);
	put("root/etc/group", "root:x:0:\nbuild:x:1000:\n");
	put("outside/theirs", "theirs");
	fuzz_never(symlink("../../../outside", at("root/home/open/link")) < 0 ||
		   chmod(at("root/home/open"), 0777) < 0);
	memset(&cfg, 0, sizeof(cfg));
	PHX_STR_SET(cfg.root, at("root"));
	PHX_STR_SET(cfg.state_dir, at("state"));
	cfg.job_private = AGENT_PRIVATE_YES;
	cfg.network_silence_s = 60;
}

/* The one thing that is in a directory. */
static void has_one(const char *dir, const char *name)
{
	DIR *d = opendir(at(dir));
	fuzz_never(!d);
	for (const struct dirent *e; (e = readdir(d));)
		fuzz_never(e->d_name[0] != '.' && strcmp(e->d_name, name));
	closedir(d);
}

static void check_bounds(void)
{
	PHX_AUTO_FREE char *text = NULL;
	has_one("outside", "theirs");
	has_one("root/home/open", "link");
	fuzz_never(phx_file_read(at("outside/theirs"), 100, &text, NULL, NULL) < 0 ||
		   strcmp(text, "theirs"));
}

/* ---- what came of a bundle ---- */

static int client(void *arg, struct phx_http_client **ret, struct phx_err *err)
{
	(void)arg, (void)err;
	*ret = NULL;
	return 0;
}

/* Of several files of one path the last one counts. */
static const struct phx_site_out *last_of(const struct phx_site_bundle *b, const char *path)
{
	const struct phx_site_out *last = NULL;
	PHX_LIST_EACH(struct phx_site_out, f, &b->files)
		if (!strcmp(f->path, path))
			last = f;
	return last;
}

static bool is_of_accounts(const char *path)
{
	return phx_str_starts(path, "/etc/passwd") || phx_str_starts(path, "/etc/group") ||
		phx_str_starts(path, "/etc/shadow") || phx_str_starts(path, "/etc/gshadow");
}

static void check_there(const struct phx_site_bundle *b)
{
	PHX_LIST_EACH(struct phx_site_out, f, &b->files) {
		const struct phx_site_out *want = last_of(b, f->path);
		struct phx_site_out is;
		bool large = strlen(phx_text(want->text)) > PHX_SITE_FILE_MAX;
		fuzz_never(large && phx_site_is_network(f->path));
		if (large || is_of_accounts(f->path))
			continue;
		fuzz_never(site_file_read(cfg.root, f->path, &is, NULL) != 1);
		fuzz_never(!is_same(&is, want));
		phx_record_fini(&phx_site_out_record, &is);
	}
}

static void check_gone(const struct phx_site_bundle *b)
{
	struct phx_site_out is;
	PHX_LIST_EACH(struct phx_site_out, f, &b->files)
		fuzz_never(site_file_read(cfg.root, f->path, &is, NULL) == 1);
}

/* The former network is there, and the trial is over. */
static void check_network(const struct site *s, const struct phx_site_bundle *b)
{
	fuzz_never(site_net_pending(s->net) || s->net->trial.former.n);
	PHX_LIST_EACH(struct phx_site_out, f, &b->files) {
		struct phx_site_out is;
		if (head_is_heard || !phx_site_is_network(f->path))
			continue;
		fuzz_never(site_file_read(cfg.root, f->path, &is, NULL) == 1);
	}
}

static void check_kept(const struct site *s)
{
	struct site_state is;
	PHX_AUTO_FREE char *text = NULL;
	if (phx_file_read(s->file, STATE_MAX, &text, NULL, NULL) < 0)
		return; /* nothing was ever tried */
	fuzz_never(phx_json_text_to_record(&site_state_record, text, &is, NULL) < 0);
	PHX_LIST_EACH(struct phx_site_out, f, &is.files)
		fuzz_never(f->text && f->text[0]);
	fuzz_never(!phx_record_equal(&site_state_record, &is, &s->state));
	phx_record_fini(&site_state_record, &is);
}

static void check_told(struct site *s, int r)
{
	PHX_AUTO_JSON json_t *list = json_array(), *monitor = json_object();
	site_running(s, list);
	site_monitor(s, monitor);
	fuzz_never(r == 0 && (json_object_get(monitor, "site_error") || s->error[0]));
	fuzz_never((uint64_t)json_integer_value(json_array_get(json_array_get(list, 0), 1)) !=
		   s->state.id);
}

static void read_back(const struct phx_site_bundle *b)
{
	struct phx_site_bundle again;
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_site_bundle_record, b);
	fuzz_never(!text ||
		   phx_json_text_to_record(&phx_site_bundle_record, text, &again, NULL) < 0 ||
		   !phx_record_equal(&phx_site_bundle_record, b, &again));
	phx_record_fini(&phx_site_bundle_record, &again);
}

/* 0 as fetch(). */
static int take(struct site *s, const char *text)
{
	struct phx_err err = {0};
	bundle_text = text;
	int r = fetch(s, NULL, &err);
	fuzz_never(r > 0 || (r < 0 && !err.text[0]));
	check_bounds();
	check_kept(s);
	return r;
}

/* Again, by a worker: it is there already, and nothing is run. */
static void take_again(struct site *s, const char *text)
{
	unsigned before = n_runs;
	bundle_text = text;
	fuzz_never(site_fetch(s, NULL) < 0 || bundle_text || n_runs != before || s->error[0]);
	s->busy = false; /* it is done before it is noted that it was begun */
	site_settle(s);
	site_wait(s, 0);
}

/* The node passes to another owner. */
static void forget_host_key(struct site *s)
{
	PHX_AUTO_JSON json_t *monitor = json_object();
	fuzz_never(phx_dir_make(at("root/etc/ssh"), 0755, NULL) < 0);
	put("root" HOST_KEY, "a key");
	put("root" HOST_KEY ".pub", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGa0 root@n1\n");
	site_monitor(s, monitor);
	site_host_key_forget(cfg.root);
	fuzz_never(access(at("root" HOST_KEY), F_OK) == 0 ||
		   access(at("root" HOST_KEY ".pub"), F_OK) == 0);
}

static void one(struct site *s, const char *text, bool *all_well)
{
	struct phx_site_bundle b;
	uint64_t before = s->state.id; /* what has the same id is the same, says the head */
	int r = take(s, text);
	if (phx_json_text_to_record(&phx_site_bundle_record, text, &b, NULL) < 0) {
		fuzz_never(r == 0);
		return;
	}
	PHX_LIST_EACH(struct phx_site_out, f, &b.files)
		of_accounts = of_accounts || phx_str_starts(f->path, "/etc/");
	read_back(&b);
	check_told(s, r);
	check_network(s, &b);
	*all_well = *all_well && r == 0;
	if (r == 0 && b.id != before) {
		check_there(&b);
		take_again(s, text);
	}
	phx_record_fini(&phx_site_bundle_record, &b);
}

/* All that a site brought goes, where all of it came. */
static void leave(struct site *s, const char *text, bool all_well)
{
	struct phx_site_bundle b;
	PHX_AUTO_FREE char *passwd = NULL;
	if (s->state.id == INT64_MAX)
		return;
	int r = take(s, "{\"id\":9223372036854775807}");
	if (!all_well || phx_json_text_to_record(&phx_site_bundle_record, text, &b, NULL) < 0)
		return;
	if (r == 0)
		check_gone(&b);
	fuzz_never(phx_file_read(at("root/etc/passwd"), 1 << 20, &passwd, NULL, NULL) < 0 &&
		   !of_accounts);
	fuzz_never(r == 0 && !of_accounts && strcmp(passwd, IMAGE));
	phx_record_fini(&phx_site_bundle_record, &b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct site_config config = {.cfg = &cfg, .client = client, .boot = "b1"};
	struct site *s = NULL;
	bool all_well = true;
	if (!n)
		return 0;
	PHX_AUTO_FREE char *text = fuzz_text(data + 1, n - 1);
	const char *last = "";
	head_is_heard = data[0] != 's';
	of_accounts = false;
	umask(022);
	make_node();
	fuzz_never(site_new(&config, &s, NULL) < 0);
	for (char *line = text, *next; *line; line = next) {
		next = fuzz_line(line);
		one(s, line, &all_well);
		last = line;
	}
	leave(s, last, all_well);
	if (!*text)
		forget_host_key(s);
	site_free(s);
	return 0;
}
