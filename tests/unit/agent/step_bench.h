/* A step of the agent, carried out by the test itself against a head that serves files: what the
 * worker does with an order, without the worker. */
#ifndef TEST_AGENT_STEP_BENCH_H
#define TEST_AGENT_STEP_BENCH_H

#include "unit/agent/scratch.h"
#include "unit/http/world.h"

#include <openssl/evp.h>

#include "config/image.h"
#include "core/core.h"
#include "agent/step_table.h"

struct bench {
	struct scratch *s;
	struct world *head;
	struct agent a;
	struct phx_order o;
	json_t *extra;       /* members of the order that phxd adds */
	struct step_run run; /* of the last step */
	struct phx_err err;
};

/* A file of image "i" 1, or an archive of a package. */
static inline void bench_serve(struct phx_http_request *q, void *arg)
{
	const struct world *w = arg;
	char path[300];
	snprintf(path, sizeof(path), "%s/files/%s", w->dir, phx_http_param(q, 0));
	phx_http_reply_file(q, path, NULL, NULL);
}

static inline void bench_site(struct phx_http_request *q, void *arg)
{
	const struct world *w = arg;
	char path[300];
	snprintf(path, sizeof(path), "%s/files/site.cpio", w->dir);
	phx_http_reply_file(q, path, NULL, NULL);
}

static inline void bench_no_key(struct phx_http_request *q, void *arg)
{
	(void)arg;
	phx_http_reply_error(q, -EACCES, "no key for this node");
}

static const struct phx_http_route bench_routes[] = {
	{"GET", "/images/i/1/*", 1u << PHX_HTTP_TLS, bench_serve, 0, false, NULL},
	{"GET", "/packages/*", 1u << PHX_HTTP_TLS, bench_serve, 0, false, NULL},
	{"GET", "/site.cpio", 1u << PHX_HTTP_TLS, bench_site, 0, false, NULL},
	{"POST", "/v1/agent/disk-key/*", 1u << PHX_HTTP_TLS, bench_no_key, 1 << 16, false, NULL},
};

static inline void bench_configure(struct bench *b)
{
	struct agent_config *c = &b->a.cfg;
	c->whole_machine = true;
	snprintf(c->server, sizeof(c->server), "127.0.0.1:%u",
		 phx_http_server_port(b->head->server, PHX_HTTP_TLS));
	PHX_STR_SET(c->ca, b->head->ca);
	snprintf(c->site_pub, sizeof(c->site_pub), "%s/pki/site.pub", b->head->dir);
	PHX_STR_SET(c->state_dir, scratch_path(b->s, "state"));
	PHX_STR_SET(c->cache_dir, scratch_path(b->s, "cache"));
	PHX_STR_SET(c->pkg_root, scratch_path(b->s, "pkg"));
	PHX_STR_SET(c->images_signed, scratch_path(b->s, "images.signed"));
	PHX_STR_SET(c->package_keys, scratch_path(b->s, "packages.pub"));
}

static inline int bench_setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	char cert[96], key[96];
	scratch_setup((void **)&b->s);
	b->head = world_new(bench_routes, PHX_ARRAY_SIZE(bench_routes), NULL);
	char *files = phx_path("%s/files", b->head->dir);
	assert_int_equal(mkdir(files, 0755), 0);
	free(files);
	bench_configure(b);
	assert_int_equal(step_log_open(&b->a.step_log, b->a.cfg.state_dir, NULL), 0);
	world_certify(b->head->pki, b->a.cfg.state_dir, PHX_CERT_NODE, "agent", cert, key);
	assert_int_equal(loop_new(&b->a.loop, NULL), 0);
	PHX_STR_SET(b->a.node, "n1");
	PHX_STR_SET(b->a.boot_id, "boot-1");
	b->o = (struct phx_order){.id = 7, .epoch = 1, .step = {.id = 7, .nonce = 99}};
	*state = b;
	return 0;
}

static inline int bench_teardown(void **state)
{
	struct bench *b = *state;
	json_decref(b->extra);
	phx_record_fini(&phx_order_record, &b->o);
	phx_record_fini(&phx_facts_record, &b->a.facts);
	loop_free(b->a.loop);
	world_free(b->head);
	scratch_teardown((void **)&b->s);
	free(b);
	return 0;
}

/* Carries out the order as a step of this kind. */
static inline int bench_step(struct bench *b, enum phx_step_kind kind)
{
	phx_err_clear(&b->err);
	b->o.step.kind = (int)kind;
	b->run = (struct step_run){
		.agent = &b->a, .order = &b->o, .extra = b->extra, .deadline_ms = INT64_MAX};
	int r = step_run(&b->run, &b->err);
	phx_http_client_free(b->run.http);
	return r;
}

#define assert_step(b, kind, result) \
	do { \
		int r_ = bench_step(b, kind); \
		if (r_ != (result)) \
			fail_msg("step: %d instead of %d: %s", r_, (int)(result), (b)->err.text); \
	} while (0)
#define assert_says(b, part) assert_contains((b)->err.text, part)

/* ---- images ---- */

static inline void bench_sha256(const void *data, size_t n, char ret[65])
{
	uint8_t md[32];
	assert_int_equal(EVP_Digest(data, n, md, NULL, EVP_sha256(), NULL), 1);
	for (int i = 0; i < 32; i++)
		snprintf(ret + 2 * i, 3, "%02x", md[i]);
}

/* The head has this file of image "i" 1; the entry of a manifest for it. */
static inline json_t *bench_image_file(struct bench *b, const char *name, const void *data,
				       size_t n, uint64_t raw_size)
{
	char sha256[65];
	PHX_AUTO_FREE char *path = phx_path("%s/files/%s", b->head->dir, name);
	assert_int_equal(phx_file_write(path, data, n, 0644, NULL), 0);
	bench_sha256(data, n, sha256);
	return json_pack("{s:s,s:I,s:s,s:I}", "name", name, "size", (json_int_t)n, "sha256", sha256,
			 "raw_size", (json_int_t)raw_size);
}

/* The order's member "image" or "deploy". Takes the reference of `files`, an array. */
static inline void bench_image(struct bench *b, const char *member, json_t *files)
{
	json_decref(b->extra);
	b->extra = json_pack("{s:{s:s,s:s,s:s,s:o}}", member, "name", "i", "version", "1", "digest",
			     "d1", "files", files);
	assert_non_null(b->extra);
}

#endif
