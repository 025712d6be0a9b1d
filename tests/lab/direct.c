/* A director without a head: the agent's own code (director.c), told what a head would order. Run
 * by directors.sh in network namespaces of a guest that has IPVS.
 *
 *	direct SERVERS SERVICES
 *
 * both as addresses with blanks between them: the table, port 80, round robin. Reads a line each:
 *
 *	order SYNC_ID ADDRESS...	 the whole table, with this share of its addresses
 *	clear				 the role stops
 *
 * and answers "done", or "failed" and why. */
#include <stdio.h>
#include <string.h>

#include "agent/web.h"

enum { BEAT_MS = 600000 }; /* the head is never lost */

static void take_words(struct phx_web_share *s, const char *addresses)
{
	char address[PHX_WEB_ADDRESS_MAX];
	for (uint32_t i = 0; phx_web_address_at(addresses, i, address); i++) {
		struct phx_web_held *h = phx_list_push(&s->held, sizeof(*h));
		if (h)
			PHX_STR_SET(h->address, address);
	}
}

static int order(struct web *w, const struct phx_web_table *t, char *words, struct phx_err *err)
{
	struct phx_web_share share = {.on = true};
	char *addresses = words + strcspn(words, " ");
	uint64_t id;
	if (*addresses)
		*addresses++ = '\0';
	if (phx_u64_parse(words, 0, 255, &id) < 0)
		return phx_err_set(err, -22, "'%s' is no number", words);
	share.sync_id = (uint32_t)id;
	take_words(&share, addresses);
	int r = director_apply(w, phx_web_order_id(t, &share), t, &share, err);
	phx_list_fini(&share.held);
	return r;
}

static void obey(struct web *w, const struct phx_web_table *t, char *line)
{
	struct phx_err err = {0};
	int r = -22;
	line[strcspn(line, "\n")] = '\0';
	director_heard(w, BEAT_MS);
	if (!strncmp(line, "order ", 6))
		r = order(w, t, line + 6, &err);
	else if (!strcmp(line, "clear"))
		r = director_clear(w, &err);
	printf("%s %s\n", r == 0 ? "done" : "failed", err.text);
	fflush(stdout);
}

static int make_table(const char *servers, const char *services, struct phx_web_table *ret)
{
	char service[PHX_WEB_ADDRESS_MAX], server[PHX_WEB_ADDRESS_MAX];
	for (uint32_t i = 0; phx_web_address_at(services, i, service); i++) {
		struct phx_web_service *s = phx_web_table_service(ret, service, 80, "rr");
		for (uint32_t k = 0; s && phx_web_address_at(servers, k, server); k++)
			phx_web_table_put(s, server, 1);
	}
	return ret->services.n ? 0 : -1;
}

static void turn(void *loop)
{
	loop_run(loop);
}

int main(int argc, char **argv)
{
	struct phx_web_table t = {0};
	char line[256];
	struct loop *loop;
	struct web *w;
	if (argc != 3 || make_table(argv[1], argv[2], &t) < 0 || loop_new(&loop, NULL) < 0 ||
	    loop_work(loop, turn, loop) < 0 || web_new(loop, true, &w) < 0)
		return 2;
	while (fgets(line, sizeof(line), stdin))
		obey(w, &t, line);
	web_free(w);
	loop_free(loop);
	phx_web_table_fini(&t);
	return 0;
}
