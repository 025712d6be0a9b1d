/* The CAs that an agent believes: the head changes them over a connection that is believed, and can
 * neither lock the agent out nor give it what the certificate does not rest on. */
#include "fake/head.h"

#include "pki/pki.h"

static const char *const names[] = {"127.0.0.1", "localhost"};

/* The agent has its own copy of the CA. */
static void start(struct fake_head *h)
{
	PHX_AUTO_FREE char *ca = NULL;
	char conf[300];
	snprintf(conf, sizeof(conf), "server = \"127.0.0.1:%u\"; supervisor = \"own\";",
		 phx_http_server_port(h->world->server, PHX_HTTP_TLS));
	world_put(root_path(h, "etc/phoenix/agent.conf"), conf);
	assert_int_equal(phx_file_read(h->world->ca, 65536, &ca, NULL, NULL), 0);
	world_put(root_path(h, "etc/phoenix/ca.pem"), ca);
	fake_agent_start(h);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > 0);
}

static uint64_t kept(const struct fake_head *h)
{
	PHX_AUTO_FREE char *ca = NULL;
	return phx_file_read(root_path(h, "etc/phoenix/ca.pem"), 65536, &ca, NULL, NULL) == 0
		? phx_ca_number(ca)
		: 0;
}

/* What the last beat said of the CAs; -1: nothing. */
static int64_t said(struct fake_head *h)
{
	int64_t number = -1;
	size_t i;
	json_t *r;
	pthread_mutex_lock(&h->lock);
	json_array_foreach(json_object_get(h->beat, "running"), i, r) {
		const char *kind = json_string_value(json_array_get(r, 0));
		if (kind && !strcmp(kind, "ca"))
			number = json_integer_value(json_array_get(r, 1));
	}
	pthread_mutex_unlock(&h->lock);
	return number;
}

static struct phx_pki *open_pki(const struct fake_head *h, const char *name)
{
	char dir[128];
	struct phx_pki *pki = NULL;
	struct phx_err err = {0};
	if (phx_pki_open(world_path(h->world, name, dir, sizeof(dir)), names, 2, &pki, &err) < 0)
		fail_msg("%s", err.text);
	return pki;
}

/* As the head does, with these certificates from then on. */
static void order_ca(struct fake_head *h, struct phx_pki *issuer, const char *ca)
{
	pthread_mutex_lock(&h->lock);
	h->issuer = issuer;
	h->ca = ca;
	pthread_mutex_unlock(&h->lock);
	fake_order(h, json_pack("{s:s,s:I}", "kind", "ca", "id", (json_int_t)phx_ca_number(ca)));
}

static void test_it_follows_the_change(void **state)
{
	struct fake_head *h = *state;
	char dir[128];
	start(h);
	uint64_t alone = phx_ca_number(phx_pki_ca_pem(h->world->pki));
	assert_int_equal(said(h), alone);
	assert_int_equal(phx_pki_rotate(world_path(h->world, "pki", dir, sizeof(dir)), NULL), 0);
	struct phx_pki *both = open_pki(h, "pki");
	assert_int_equal(phx_http_server_renew(h->world->server, both, NULL), 0);
	uint64_t two = phx_ca_number(phx_pki_ca_pem(both));
	order_ca(h, both, phx_pki_ca_pem(both));
	HEAD_WAIT(h, kept(h) == two);
	assert_int_equal(phx_pki_retire(dir, NULL), 0);
	struct phx_pki *next = open_pki(h, "pki");
	assert_int_equal(phx_http_server_renew(h->world->server, next, NULL), 0);
	uint64_t one = phx_ca_number(phx_pki_ca_pem(next));
	order_ca(h, next, phx_pki_ca_pem(next));
	HEAD_WAIT(h, kept(h) == one);
	int beats = fake_count(h, &h->n_beats);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > beats + 1);
	assert_int_equal(said(h), one);
	fake_agent_end(h, SIGTERM);
	phx_http_server_free(PHX_TAKE(h->world->server));
	phx_pki_free(both);
	phx_pki_free(next);
}

/* The head says that another site's CA counts, by which it is not believed itself. */
static void test_it_is_not_locked_out(void **state)
{
	struct fake_head *h = *state;
	start(h);
	uint64_t before = kept(h);
	int enrols = fake_count(h, &h->n_enrols);
	struct phx_pki *other = open_pki(h, "other");
	order_ca(h, other, phx_pki_ca_pem(other));
	HEAD_WAIT(h, fake_count(h, &h->n_enrols) > enrols);
	int beats = fake_count(h, &h->n_beats);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > beats + 1);
	assert_int_equal(kept(h), before);
	assert_int_equal(access(root_path(h, "etc/phoenix/ca.pem.next"), F_OK), -1);
	fake_agent_end(h, SIGTERM);
	h->issuer = NULL;
	phx_pki_free(other);
}

/* The certificate is of none of the CAs that came with it. */
static void test_it_believes_none_without_its_certificate(void **state)
{
	struct fake_head *h = *state;
	start(h);
	uint64_t before = kept(h);
	int enrols = fake_count(h, &h->n_enrols);
	struct phx_pki *other = open_pki(h, "other");
	order_ca(h, NULL, phx_pki_ca_pem(other));
	HEAD_WAIT(h, fake_count(h, &h->n_enrols) > enrols);
	int beats = fake_count(h, &h->n_beats);
	HEAD_WAIT(h, fake_count(h, &h->n_beats) > beats + 1);
	assert_int_equal(kept(h), before);
	fake_agent_end(h, SIGTERM);
	h->ca = NULL;
	phx_pki_free(other);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_head_setup, fake_head_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_it_follows_the_change),
		TEST(test_it_is_not_locked_out),
		TEST(test_it_believes_none_without_its_certificate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
