/* The families of metrics that are about the head, and about all nodes together. Called for a
 * rendering (metrics_reply.c); reads and changes nothing else. */
#include "phxd/metrics_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "config/image.h"

enum { MILLI = 3, MICRO = 6 };
static const char *const none[] = {NULL};

static void put_one(struct phx_buf *b, enum phx_metric m, int64_t value, unsigned decimals)
{
	phx_metric_head(b, m);
	phx_metric_put(b, m, none, value, decimals);
}

/* ---- what was counted: a copy of it, without a lock ---- */

static void put_handovers(struct phx_buf *b, const struct metrics_counts *c)
{
	phx_metric_head(b, PHX_METRIC_handover_seconds);
	for (int mode = 0; mode < phx_setup_mode_names.n_names; mode++)
		phx_histogram_put(b, PHX_METRIC_handover_seconds, &phx_setup_mode_names.names[mode],
				  &c->handovers[mode], &phx_buckets_steps);
	phx_metric_head(b, PHX_METRIC_handover_phase_seconds);
	for (int p = 0; p < PHX_PHASES; p++)
		for (int mode = 0; mode < phx_setup_mode_names.n_names; mode++) {
			const char *labels[] = {phx_phase_name((enum phx_phase)p),
						phx_setup_mode_names.names[mode]};
			phx_histogram_put(b, PHX_METRIC_handover_phase_seconds, labels,
					  &c->phases[p][mode], &phx_buckets_steps);
		}
}

static void put_steps(struct phx_buf *b, const struct metrics_counts *c)
{
	phx_metric_head(b, PHX_METRIC_step_seconds);
	for (int k = 0; k < PHX_STEP_COUNT_; k++)
		phx_histogram_put(b, PHX_METRIC_step_seconds, &phx_step_kind_names.names[k],
				  &c->steps[k], &phx_buckets_steps);
	phx_metric_head(b, PHX_METRIC_step_failures_total);
	for (int k = 0; k < PHX_STEP_COUNT_; k++)
		phx_metric_put(b, PHX_METRIC_step_failures_total, &phx_step_kind_names.names[k],
			       (int64_t)c->step_failures[k], 0);
}

/* By the method that was used; `auto` is none, but what an agent of before says. */
static void put_erases(struct phx_buf *b, const struct metrics_counts *c)
{
	phx_metric_head(b, PHX_METRIC_erases_total);
	for (int method = 0; method < METRICS_METHODS; method++)
		for (int v = 0; v < METRICS_VERDICTS; v++) {
			const char *labels[] = {phx_wipe_method_names.names[method],
						metrics_verdict_name(v)};
			phx_metric_put(b, PHX_METRIC_erases_total, labels,
				       (int64_t)c->erases[method][v], 0);
		}
}

static void put_agents(struct phx_buf *b, const struct metrics_counts *c)
{
	phx_metric_head(b, PHX_METRIC_orders_total);
	for (int k = PHX_ORDER_NONE + 1; k < PHX_ORDER_KIND_COUNT_; k++)
		phx_metric_put(b, PHX_METRIC_orders_total, &phx_order_kind_names.names[k],
			       (int64_t)c->orders[k], 0);
	put_one(b, PHX_METRIC_beats_total, (int64_t)c->beats.n, 0);
	phx_metric_head(b, PHX_METRIC_beat_seconds);
	phx_histogram_put(b, PHX_METRIC_beat_seconds, none, &c->beats, &phx_buckets_answers);
}

static void put_requests(struct phx_buf *b, const struct metrics_counts *c)
{
	static const char *const classes[] = {
#define C(name) #name,
		METRICS_CLASSES(C)
#undef C
	};
	static const char *const codes[METRICS_CODES] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
	phx_metric_head(b, PHX_METRIC_http_requests_total);
	for (int k = 0; k < METRICS_N_CLASSES; k++)
		for (int code = 1; code < METRICS_CODES; code++) {
			const char *labels[] = {classes[k], codes[code]};
			phx_metric_put(b, PHX_METRIC_http_requests_total, labels,
				       (int64_t)c->requests[k][code], 0);
		}
	phx_metric_head(b, PHX_METRIC_http_request_seconds);
	for (int k = 0; k < METRICS_N_CLASSES; k++)
		if (k != METRICS_beat)
			phx_histogram_put(b, PHX_METRIC_http_request_seconds, &classes[k],
					  &c->answers[k], &phx_buckets_answers);
}

static void put_power(struct daemon *d, struct phx_buf *b, const struct metrics_counts *c)
{
	static const char *const results[] = {"done", "failed"};
	put_one(b, PHX_METRIC_power_queue_length, exec_power_waiting(d->exec), 0);
	phx_metric_head(b, PHX_METRIC_power_acts_total);
	for (int op = 0; op < PHX_POWER_OP_COUNT_; op++)
		for (int failed = 0; failed < 2; failed++) {
			const char *labels[] = {phx_power_op_names.names[op], results[failed]};
			phx_metric_put(b, PHX_METRIC_power_acts_total, labels,
				       (int64_t)c->power[op][failed], 0);
		}
}

static void put_refused(struct daemon *d, struct phx_buf *b)
{
	static const char *const listeners[] = {
		[PHX_HTTP_UNIX] = "unix", [PHX_HTTP_TLS] = "https", [PHX_HTTP_PLAIN] = "http"};
	static const char *const limits[] = {
		[PHX_HTTP_LIMIT_CONNECTIONS] = "connections", [PHX_HTTP_LIMIT_ADDRESS] = "address",
		[PHX_HTTP_LIMIT_PERSON] = "person",           [PHX_HTTP_LIMIT_FILES] = "files",
		[PHX_HTTP_LIMIT_REQUESTS] = "requests",
	};
	phx_metric_head(b, PHX_METRIC_refused_total);
	for (int l = 0; l < PHX_HTTP_LISTENERS; l++)
		for (int k = 0; k < PHX_HTTP_LIMITS; k++) {
			const char *labels[] = {listeners[l], limits[k]};
			struct phx_http_refused r;
			phx_http_server_refused(d->http, (enum phx_http_listener)l,
						(enum phx_http_limit)k, &r);
			phx_metric_put(b, PHX_METRIC_refused_total, labels, (int64_t)r.n, 0);
		}
}

/* ---- what lies on the disk ---- */

static int64_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* A database and its log. */
static int64_t database_size(const char *path)
{
	char wal[PHX_CONFIG_TEXT_MAX + 64];
	snprintf(wal, sizeof(wal), "%s-wal", path);
	return size_of(path) + size_of(wal);
}

/* Of the files below `dir`, down to `depth` directories further: images are NAME/VERSION/FILE. */
static int64_t tree_size(const char *dir, int depth)
{
	char path[PATH_MAX];
	struct stat st;
	int64_t sum = 0;
	DIR *open = opendir(dir);
	if (!open)
		return 0;
	for (const struct dirent *e; (e = readdir(open));) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (lstat(path, &st) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			sum += st.st_size;
		else if (S_ISDIR(st.st_mode) && depth)
			sum += tree_size(path, depth - 1);
	}
	closedir(open);
	return sum;
}

static void put_stores(const struct phx_config *cfg, struct phx_buf *b)
{
	char timeline[PHX_CONFIG_TEXT_MAX + 32];
	struct statvfs fs;
	snprintf(timeline, sizeof(timeline), "%s/timeline.db", cfg->state_dir);
	const struct {
		const char *name;
		int64_t size;
	} stores[] = {{"journal", database_size(cfg->journal)},
		      {"timeline", database_size(timeline)},
		      {"images", tree_size(cfg->image_dir, 3)},
		      {"packages", tree_size(cfg->package_dir, 1)}};
	phx_metric_head(b, PHX_METRIC_store_bytes);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(stores); i++)
		phx_metric_put(b, PHX_METRIC_store_bytes, &stores[i].name, stores[i].size, 0);
	if (statvfs(cfg->state_dir, &fs) < 0)
		return;
	put_one(b, PHX_METRIC_state_dir_bytes, (int64_t)(fs.f_blocks * fs.f_frsize), 0);
	put_one(b, PHX_METRIC_state_dir_free_bytes, (int64_t)(fs.f_bavail * fs.f_frsize), 0);
}

/* ---- certificates ---- */

static void put_certificates(const struct phx_pki *pki, struct phx_buf *b)
{
	struct phx_ca_info cas[PHX_CAS_MAX];
	char fp[PHX_FINGERPRINT_MAX];
	const char *names[] = {"ca", "former_ca", "head"}, *head = phx_pki_server_pem(pki);
	int n = phx_ca_list(phx_pki_ca_pem(pki), "the CA", cas, NULL);
	int64_t ends_s = 0;
	phx_metric_head(b, PHX_METRIC_certificate_end_timestamp_seconds);
	for (int i = 0; i < n && i < 2; i++)
		phx_metric_put(b, PHX_METRIC_certificate_end_timestamp_seconds, &names[i],
			       cas[i].expires_s, 0);
	if (head && phx_cert_brief(head, "the head's certificate", fp, &ends_s, NULL) == 0)
		phx_metric_put(b, PHX_METRIC_certificate_end_timestamp_seconds, &names[2], ends_s,
			       0);
}

void metrics_put_head(struct metrics *m, uint32_t n_pages, struct phx_buf *b)
{
	static const char *const version[] = {PHX_VERSION};
	struct daemon *d = m->d;
	pthread_mutex_lock(&m->lock);
	struct metrics_counts c = m->counts;
	pthread_mutex_unlock(&m->lock);
	phx_metric_head(b, PHX_METRIC_build_info);
	phx_metric_put(b, PHX_METRIC_build_info, version, 1, 0);
	put_one(b, PHX_METRIC_start_time_seconds, d->started_ms, MILLI);
	put_handovers(b, &c);
	put_steps(b, &c);
	put_erases(b, &c);
	put_agents(b, &c);
	put_requests(b, &c);
	put_power(d, b, &c);
	put_refused(d, b);
	outlets_put_metrics(d->outlets, b);
	put_stores(&d->cfg, b);
	put_certificates(d->pki, b);
	put_one(b, PHX_METRIC_node_pages, n_pages, 0);
	put_one(b, PHX_METRIC_rendering_seconds, m->took_us, MICRO);
}
