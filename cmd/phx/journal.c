/* phx journal: is the journal the one that was written? Looks at a copy of it with
 * anchors that were kept elsewhere (lib/store/audit.h); asks phxd for nothing but
 * its anchors. Writes nothing. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "phx/cli.h"
#include "phx/vault_log.h"
#include "store/audit.h"

int cmd_journal_anchors(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	size_t i;
	json_t *row;
	int code = cli_get(cli, "/v1/anchors", &answer);
	if (code)
		return code;
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	json_array_foreach(json_object_get(answer, "anchors"), i, row)
		printf("%s\n", phx_json_str(row, "line", ""));
	int64_t n_bad = phx_json_int(answer, "bad", 0);
	if (n_bad)
		fprintf(stderr, "phx: %lld lines of the head's file are no anchors\n",
			(long long)n_bad);
	return CLI_OK;
}

/* ---- what is given ---- */

static char *file_of(struct cli *cli, enum cli_option_id id, const char *key, const char *below)
{
	const char *given = cli_opt(cli, id, NULL);
	if (given)
		return strdup(given);
	const char *path = cli_head_dir(cli, key);
	return path ? phx_path("%s%s", path, below) : NULL;
}

/* Those of one file that are signed as they should be; others are told and passed over. */
static int add_file(const char *path, const char *pub, struct phx_list *to, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list lines = {0};
	uint32_t n_bad = 0, n_strange = 0, before = to->n;
	int r = phx_anchor_read(path, 0, &lines, &n_bad, err);
	PHX_LIST_EACH(struct phx_anchor, a, &lines) {
		struct phx_err why = {0};
		int verified = r < 0 ? r : phx_anchor_verify(a, pub, &why);
		if (verified < 0 && verified != -EKEYREJECTED)
			return phx_err_set(err, verified, "%s", why.text);
		/* what the journal says of its own beginning stands in it, too */
		bool takes = verified == 0 && a->kind == PHX_ANCHOR_REACHED;
		n_strange += verified < 0;
		struct phx_anchor *kept = takes ? phx_list_push(to, sizeof(*a)) : NULL;
		if (takes && !kept)
			return -ENOMEM;
		if (takes)
			*kept = *a;
	}
	if (r == 0 && n_bad)
		fprintf(stderr,
			"phx: %s: %u lines are no anchors, or cut off: they are passed over\n",
			path, n_bad);
	if (r == 0 && n_strange)
		fprintf(stderr,
			"phx: %s: %u anchors are not signed with %s: they are passed over\n", path,
			n_strange, pub);
	if (r == 0 && to->n == before)
		r = phx_err_set(err, -EINVAL, "%s: no anchor in it is signed with %s", path, pub);
	return r;
}

/* ---- what is said ---- */

static void put_time(struct phx_buf *b, int64_t ms)
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;
	char text[40];
	if (localtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		phx_buf_addf(b, "%s", text);
}

static void say_limits(struct phx_buf *b, const struct phx_audit *f)
{
	if (f->uncovered)
		phx_buf_addf(b,
			     "Events up to %llu are older than the chain: nothing is known of "
			     "them.\n",
			     (unsigned long long)f->uncovered);
	if (f->forgotten) {
		phx_buf_addf(b, "Events up to %llu were forgotten at ",
			     (unsigned long long)f->forgotten);
		put_time(b, f->forgotten_ms);
		phx_buf_addf(b, "; %u anchors are of such events.\n", f->n_forgotten);
	}
	if (f->accepted) {
		phx_buf_addf(b, "Up to event %llu the journal was accepted as it was at ",
			     (unsigned long long)f->accepted);
		put_time(b, f->accepted_ms);
		if (f->unfit)
			phx_buf_addf(b, ", though event %llu does not fit",
				     (unsigned long long)f->unfit);
		phx_buf_addf(b, ".\n");
	}
}

static void say_proof(struct phx_buf *b, const struct phx_audit *f)
{
	if (!f->n_proofs) {
		phx_buf_addf(b,
			     "No anchor from elsewhere was compared: whoever had the head and "
			     "its key could have written all of it anew.\n");
		return;
	}
	phx_buf_addf(b, "%u anchors fit, the last is of event %llu, ", f->n_proofs,
		     (unsigned long long)f->proven);
	put_time(b, f->proven_ms);
	phx_buf_addf(b, "; that nothing was altered or taken away behind it cannot be proven.\n");
}

static void say_ok(const struct phx_audit *f)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "OK: events %llu to %llu are as they were written.\n",
		     (unsigned long long)f->first, (unsigned long long)f->last);
	say_limits(&b, f);
	say_proof(&b, f);
	fputs(b.data ? b.data : "", stdout);
}

static json_t *view(const struct phx_audit *f, int finding)
{
	static const char *const findings[] = {"ok", "event", "anchor"};
	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "finding",
			 findings[finding], "text", f->text, "first", (json_int_t)f->first, "last",
			 (json_int_t)f->last, "proven", (json_int_t)f->proven, "proven_ms",
			 (json_int_t)f->proven_ms, "anchors", (json_int_t)f->n_proofs,
			 "anchors_forgotten", (json_int_t)f->n_forgotten, "uncovered",
			 (json_int_t)f->uncovered, "forgotten", (json_int_t)f->forgotten,
			 "accepted", (json_int_t)f->accepted, "unfit", (json_int_t)f->unfit);
}

/* `log`: what was found of the vault's log; NULL: it was not asked for. */
static int report(struct cli *cli, const char *journal, const struct phx_audit *f, int finding,
		  const struct vault_log_found *log)
{
	if (cli_structured(cli)) {
		PHX_AUTO_JSON json_t *j = view(f, finding);
		if (log)
			json_object_set_new(j, "vault_log", vault_log_view(log));
		cli_print_value(cli, j);
	} else if (finding) {
		cli_fail(CLI_PARTIAL, "%s: %s", journal, f->text);
	} else {
		say_ok(f);
	}
	if (log && !cli_structured(cli))
		vault_log_say(log);
	return finding || (log && log->finding) ? CLI_PARTIAL : CLI_OK;
}

int cmd_journal_verify(struct cli *cli)
{
	PHX_AUTO_FREE char *journal = file_of(cli, CLI_OPT_journal, "journal", "");
	PHX_AUTO_FREE char *pub =
		journal ? file_of(cli, CLI_OPT_pub, "pki_dir", "/site.pub") : NULL;
	PHX_AUTO(phx_list_fini) struct phx_list anchors = {0};
	const struct cli_values *files = &cli->args.opt[CLI_OPT_anchors];
	const struct cli_values *logs = &cli->args.opt[CLI_OPT_vault_log];
	struct vault_log_found log = {0};
	struct phx_audit found;
	struct phx_err err = {0};
	int r = 0;
	if (!pub)
		return cli->head_code;
	for (unsigned i = 0; r == 0 && i < files->n; i++)
		r = add_file(files->v[i], pub, &anchors, &err);
	if (r == 0 && logs->n)
		r = vault_log_find(logs, &anchors, &log, &err);
	r = r ? r : phx_store_audit(journal, &anchors, pub, &found, &err);
	return r < 0 ? cli_fail_err(r, &err)
		     : report(cli, journal, &found, r, logs->n ? &log : NULL);
}
