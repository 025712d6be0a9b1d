/* A fake agent for tests of the head: it speaks the agents' protocol over real HTTPS with a
 * certificate of its own, and answers every order with success, or as told, without doing anything
 * to the machine. Each effect is a line "STEP ID KIND ROLE DISK" or "JOB ID" ("JOB ID.RUN" of a
 * later run) in DIR/effects, written once an id: what an agent's own journal is for.
 *
 * A job runs on for as long as there is a file DIR/busy, unless it is killed.
 *
 * It is up as long as DIR/power says so: a line "off" takes it down without a word, "on" starts it
 * anew in the deploy environment. A lost answer is asked for again, for ever. Like a machine it is
 * given the token of a start by the order or by the answer to /boot/MAC, and makes a key for it. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/pem.h>

#include "base/file.h"
#include "base/json.h"
#include "fake/tpm.h"
#include "http/http.h"
#include "pki/next_key.h"
#include "pki/statement.h"
#include "types/node.h"

enum { RETRY_MS = 60, WAIT_MS = 700, TIMEOUT_MS = 5000 };

/* What a machine remembers: in DIR/memory. */
#define MEMORY_FIELDS(F, S) \
	F(S, boot_id, STR(40)) \
	F(S, env, STR(16)) \
	F(S, role, STR(PHX_NAME_MAX)) \
	F(S, identity, STR(200)) \
	F(S, image, STR(PHX_NAME_MAX)) \
	F(S, digest, STR(65)) \
	F(S, start, STR(96))  /* the token of its last start */ \
	F(S, power, STR(16))  /* what DIR/power said last */ \
	F(S, deploy, STR(65)) /* the deploy image that it was started with last */

struct fake {
	const char *dir, *server, *ca, *mac, *serial, *fail;
	const char *uuid; /* of its board; "": it says none */
	int fail_left;
	int verbose;
	const char *hang; /* steps of those kinds it takes, and is never heard of them */
	bool lazy;        /* says that it has another key, and asks for none */
	bool unread;      /* says of its erases that they were not verified */
	/* what is wrong with what it signs of the erase of disk `seal_of` ("": of all): "none" it
	 * does not sign, "stale" it is of another attempt, "altered", "image" of no image */
	const char *seal, *seal_of;
	/* what its TPM is: "one" of its own; "stale" it quotes what it did before; NULL it has none
	 */
	const char *tpm;
	uint32_t number;
	struct phx_http_client *client;
	PHX_MEMBERS(fake, MEMORY_FIELDS)
	bool up;                 /* said hello in this boot */
	char node[PHX_NAME_MAX]; /* as the head calls it */
};
PHX_RECORD_LOCAL(memory, fake, MEMORY_FIELDS);

static void nap(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};
	nanosleep(&ts, NULL);
}

static char *in_dir(const struct fake *f, const char *name)
{
	char *path = phx_path("%s/%s", f->dir, name);
	if (!path)
		exit(1);
	return path;
}

static void note(const struct fake *f, const char *what, const char *text)
{
	if (f->verbose)
		fprintf(stderr, "%s: %s\n", what, text);
}

/* ---- memory ---- */

static void remember(const struct fake *f)
{
	PHX_AUTO_FREE char *path = in_dir(f, "memory");
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&memory_record, f);
	PHX_AUTO_FREE char *text = phx_json_text(j);
	if (!text || phx_file_write(path, text, strlen(text), 0600, NULL) < 0)
		exit(1);
}

static bool recall(struct fake *f)
{
	PHX_AUTO_FREE char *path = in_dir(f, "memory");
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_JSON json_t *j = NULL;
	struct fake was;
	if (phx_file_read(path, 65536, &text, NULL, NULL) < 0 ||
	    phx_json_parse(text, strlen(text), &j, NULL) < 0 ||
	    phx_json_to_record(&memory_record, j, &was, NULL) < 0)
		return false;
	PHX_STR_SET(f->boot_id, was.boot_id);
	PHX_STR_SET(f->env, was.env);
	PHX_STR_SET(f->role, was.role);
	PHX_STR_SET(f->identity, was.identity);
	PHX_STR_SET(f->image, was.image);
	PHX_STR_SET(f->digest, was.digest);
	PHX_STR_SET(f->start, was.start);
	PHX_STR_SET(f->power, was.power);
	PHX_STR_SET(f->deploy, was.deploy);
	return true;
}

static void boot(struct fake *f, const char *env)
{
	static int boots;
	snprintf(f->boot_id, sizeof(f->boot_id), "fake-%u-%ld-%d-%d", f->number, (long)time(NULL),
		 (int)getpid(), ++boots);
	PHX_STR_SET(f->env, env);
	f->up = false;
	remember(f);
}

/* Was this line written already? If not it is now. */
static bool first_time(const struct fake *f, const char *line)
{
	PHX_AUTO_FREE char *path = in_dir(f, "effects");
	PHX_AUTO_FREE char *text = NULL;
	char key[600];
	snprintf(key, sizeof(key), "%s\n", line);
	if (phx_file_read(path, 1 << 20, &text, NULL, NULL) == 0 && strstr(text, key))
		return false;
	FILE *out = fopen(path, "ae");
	if (!out || fputs(key, out) < 0 || fclose(out))
		exit(1);
	return true;
}

/* ---- talking ---- */

static void connect_again(struct fake *f)
{
	PHX_AUTO_FREE char *cert = in_dir(f, "cert.pem");
	PHX_AUTO_FREE char *key = in_dir(f, "key.pem");
	bool known = access(cert, R_OK) == 0;
	struct phx_http_client_config config = {.base_url = f->server,
						.ca_pem_path = f->ca,
						.cert_pem_path = known ? cert : NULL,
						.key_pem_path = known ? key : NULL};
	struct phx_err err = {0};
	phx_http_client_free(f->client);
	if (phx_http_client_new(&config, &f->client, &err) < 0) {
		fprintf(stderr, "fake agent: %s\n", err.text);
		exit(1);
	}
}

static int call(struct fake *f, const char *path, const json_t *body, json_t **ret)
{
	struct phx_err err = {0};
	int r = phx_http_call_json(f->client, "POST", path, body, TIMEOUT_MS, ret, &err);
	if (r < 0)
		note(f, path, err.text);
	return r;
}

static char *make_csr(struct fake *f)
{
	PHX_AUTO_FREE char *path = in_dir(f, "key.pem");
	PHX_AUTO_FREE char *key = NULL;
	char *csr = NULL;
	struct phx_err err = {0};
	int r = phx_file_read(path, 65536, &key, NULL, NULL);
	if (r == 0) {
		r = phx_csr_from_key(key, "fake", &csr, &err);
	} else {
		r = phx_csr_make("fake", &key, &csr, &err);
		r = r ? r : phx_file_write(path, key, strlen(key), 0600, &err);
	}
	if (r < 0) {
		fprintf(stderr, "fake agent: %s\n", err.text);
		exit(1);
	}
	return csr;
}

/* The token among those words, if it is another than before: a key is made for it. */
static bool take_start(struct fake *f, const char *words)
{
	const char *at = strstr(words, "phx.start=");
	char token[sizeof(f->start)];
	PHX_AUTO_FREE char *cert = in_dir(f, "cert.pem");
	PHX_AUTO_FREE char *key = in_dir(f, "key.pem");
	if (!at)
		return false;
	at += strlen("phx.start=");
	snprintf(token, sizeof(token), "%.*s", (int)strcspn(at, " \n"), at);
	if (!strcmp(token, f->start))
		return false;
	PHX_STR_SET(f->start, token);
	unlink(cert);
	unlink(key);
	remember(f);
	return true;
}

/* What its firmware is told, and asks again when it is refused. */
static bool ask_start(struct fake *f)
{
	struct phx_http_response r = {0};
	char path[64];
	snprintf(path, sizeof(path), "/boot/%s", f->mac);
	bool given = phx_http_call(f->client, "GET", path, NULL, TIMEOUT_MS, &r, NULL) == 0 &&
		r.status == 200 && r.body && take_start(f, r.body);
	phx_http_response_fini(&r);
	if (given)
		connect_again(f);
	return given;
}

static bool enrolled(struct fake *f)
{
	PHX_AUTO_FREE char *path = in_dir(f, "cert.pem");
	if (access(path, R_OK) == 0)
		return true;
	PHX_AUTO_FREE char *csr = make_csr(f);
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_JSON json_t *body =
		json_pack("{s:s,s:[s],s:s,s:s,s:s}", "csr", csr, "macs", f->mac, "serial",
			  f->serial, "boot_id", f->boot_id, "env", f->env);
	if (f->start[0])
		json_object_set_new(body, "start", json_string(f->start));
	connect_again(f);
	int r = call(f, "/v1/agent/enrol", body, &answer);
	if (r == -EACCES && !strcmp(f->env, "deploy"))
		ask_start(f);
	if (r < 0)
		return false;
	const char *cert = phx_json_str(answer, "cert", NULL);
	if (!cert || phx_file_write(path, cert, strlen(cert), 0600, NULL) < 0)
		return false;
	connect_again(f);
	return true;
}

/* Disk number `i` of the machine: the word of line `i` of DIR/disks, if there is the file, says
 * what it is made out to be: "shown", "removable", "hidden", "deploy" (the installed system does
 * not report it), "lun" (on Fibre Channel), or "claimed" (so the installed system says, and it is
 * none). Without the file there is one, and it is shown. */
static json_t *disk(const struct fake *f, unsigned i, const char *word)
{
	char id[40];
	bool remote = !strcmp(word, "lun") || (!strcmp(word, "claimed") && !strcmp(f->env, "os"));
	bool hides = !strcmp(word, "hidden") || (!strcmp(word, "deploy") && !strcmp(f->env, "os"));
	snprintf(id, sizeof(id), i ? "serial-FAKE-%u-%u" : "serial-FAKE-%u", f->number, i);
	return hides ? NULL
		     : json_pack("{s:s,s:I,s:b,s:b,s:s,s:b,s:i}", "id", id, "size_bytes",
				 (json_int_t)4 << 30, "can_discard", 1, "removable",
				 !strcmp(word, "removable"), "transport", remote ? "fc" : "sata",
				 "remote", remote, "n_paths", remote ? 2 : 1);
}

static json_t *disks(const struct fake *f)
{
	PHX_AUTO_FREE char *path = in_dir(f, "disks");
	PHX_AUTO_FREE char *text = NULL;
	json_t *list = json_array();
	unsigned i = 0;
	if (phx_file_read(path, 4096, &text, NULL, NULL) < 0)
		text = strdup("shown");
	for (char *rest = text, *word; (word = strsep(&rest, "\n"));) {
		json_t *d = *word ? disk(f, i++, word) : NULL;
		if (d)
			json_array_append_new(list, d);
	}
	return list;
}

static json_t *facts(const struct fake *f)
{
	return json_pack("{s:s,s:i,s:I,s:s,s:s,s:s,s:o,s:[{s:s,s:s,s:b}]}", "arch", "x86_64",
			 "cpus", 2, "memory_bytes", (json_int_t)1 << 30, "serial", f->serial,
			 "uuid", f->uuid, "boot_mode", "uefi", "disks", disks(f), "nics", "mac",
			 f->mac, "dev", "eth0", "link", 1);
}

static void say_hello(struct fake *f)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_JSON json_t *body = json_pack(
		"{s:b,s:b,s:b,s:b,s:b,s:s,s:s,s:o,s:s,s:s,s:s,s:s}", "echoes", 1, "checker", 1,
		"rekeys", 1, "proves", 1, "protects", 1, "boot_id", f->boot_id, "env", f->env,
		"facts", facts(f), "actual_role", f->role, "actual_identity", f->identity,
		"system_image", f->image, "system_digest", f->digest);
	int r = call(f, "/v1/agent/hello", body, &answer);
	f->up = r == 0;
	if (r < 0 && !(r == -EACCES && !strcmp(f->env, "deploy") && ask_start(f)))
		nap(RETRY_MS);
	else
		PHX_STR_SET(f->node, phx_json_str(answer, "node", ""));
	/* nothing is to be done: enter what is installed, as the deploy environment does */
	if (r == 0 && !strcmp(phx_json_str(answer, "boot", ""), "local") &&
	    !strcmp(f->env, "deploy")) {
		PHX_STR_SET(f->env, "os");
		f->up = false;
		remember(f);
	}
}

/* ---- orders ---- */

struct order {
	int64_t id, epoch, run, nonce;
	const char *kind;   /* of the step */
	const char *deploy; /* digest of the image to start */
	const char *disk, *method;
	int64_t seconds; /* of a check */
	bool writes;
	const char *cmdline; /* kexec: of the next kernel */
	const json_t *role;
};

static void take_system(struct fake *f, const struct order *o)
{
	PHX_STR_SET(f->image, phx_json_str(o->role, "image", ""));
	PHX_STR_SET(f->digest, phx_json_str(o->role, "image_digest", ""));
	f->role[0] = f->identity[0] = '\0';
}

static void lose_system(struct fake *f, const struct order *o)
{
	(void)o;
	f->image[0] = f->digest[0] = f->role[0] = f->identity[0] = '\0';
}

static void take_role(struct fake *f, const struct order *o)
{
	struct phx_role role;
	if (phx_json_to_record(&phx_role_record, o->role, &role, NULL) < 0)
		return;
	PHX_STR_SET(f->role, role.name);
	phx_role_identity(&role, f->identity, sizeof(f->identity));
	phx_record_fini(&phx_role_record, &role);
}

static void lose_role(struct fake *f, const struct order *o)
{
	(void)o;
	f->role[0] = f->identity[0] = '\0';
}

static void go_down(struct fake *f, const struct order *o)
{
	lose_role(f, o);
	PHX_STR_SET(f->deploy, o->deploy);
	boot(f, "deploy");
	if (take_start(f, o->cmdline))
		connect_again(f);
}

static void go_up(struct fake *f, const struct order *o)
{
	(void)o;
	PHX_STR_SET(f->env, "os");
	f->up = false;
}

/* What a step changes in the machine's memory; other steps change nothing. */
static const struct {
	const char *kind;
	void (*effect)(struct fake *f, const struct order *o);
	bool leaves; /* ends by the next hello, not by a result */
} steps[] = {
	{"kexec", go_down, true},      {"enter", go_up, true},      {"wipe", lose_system, false},
	{"image", take_system, false}, {"ram", take_system, false}, {"activate", take_role, false},
	{"leave", lose_role, false},
};

/* A TPM that counts a reset at each question; its key lies beside the machine. */
static json_t *quoted(struct fake *f, const struct phx_statement *said)
{
	static uint32_t resets;
	struct fake_tpm tpm = {.resets = ++resets};
	struct phx_quote q;
	uint8_t data[PHX_QUOTE_DATA_SIZE];
	PHX_AUTO_FREE char *path = in_dir(f, "tpm.pem");
	FILE *file = fopen(path, "r");
	tpm.key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
	if (file)
		fclose(file);
	if (!tpm.key) {
		fake_tpm_init(&tpm);
		file = fopen(path, "w");
		if (!file || PEM_write_PrivateKey(file, tpm.key, NULL, NULL, 0, NULL, NULL) != 1)
			exit(1);
		fclose(file);
	}
	if (phx_statement_digest(said, data) < 0)
		exit(1);
	data[0] ^= !strcmp(f->tpm, "stale");
	if (fake_tpm_quote(&tpm, data, &q) < 0)
		exit(1);
	fake_tpm_fini(&tpm);
	return phx_json_from_record(&phx_quote_record, &q);
}

/* The digest of what it read back; or what is none. */
static const char *sum_of(const struct fake *f, const struct order *o)
{
	bool lies =
		f->seal && !strcmp(f->seal, "sum") && (!f->seal_of || !strcmp(f->seal_of, o->disk));
	return lies ? "all-of-it-was-zero"
		    : "fa0efa0efa0efa0efa0efa0efa0efa0efa0efa0efa0efa0efa0efa0efa0efa0e";
}

/* What is true of the erase, and what the agent signs of it, unless it was told to do otherwise. */
static json_t *sealed(struct fake *f, const struct order *o, json_t *body)
{
	struct phx_seal seal;
	struct phx_err err = {0};
	const char *wrong = f->seal && (!f->seal_of || !strcmp(f->seal_of, o->disk)) ? f->seal : "";
	struct phx_statement said = {.step_id = (uint64_t)o->id,
				     .epoch = (uint64_t)o->epoch,
				     .nonce = (uint64_t)o->nonce,
				     .size_bytes = 4ULL << 30,
				     .verified_bytes = 1ULL << 30,
				     .places = 4096,
				     .detail = "read back by a fake"};
	PHX_AUTO_FREE char *key = in_dir(f, "key.pem");
	PHX_AUTO_FREE char *cert = in_dir(f, "cert.pem");
	if (!strcmp(wrong, "none"))
		return json_object();
	PHX_STR_SET(said.read_sha256, sum_of(f, o));
	PHX_STR_SET(said.node, f->node);
	PHX_STR_SET(said.boot_id, f->boot_id);
	PHX_STR_SET(said.image_sha256, strcmp(wrong, "image") ? f->deploy : "none of the head's");
	PHX_STR_SET(said.disk_id, o->disk);
	PHX_STR_SET(said.method, o->method);
	PHX_STR_SET(said.used, o->method);
	said.nonce += !strcmp(wrong, "stale");
	if (phx_statement_sign(&said, key, &seal, &err) < 0 ||
	    phx_seal_certify(cert, &seal, &err) < 0) {
		fprintf(stderr, "fake agent: %s\n", err.text);
		exit(1);
	}
	if (!strcmp(wrong, "altered"))
		seal.boot_id[0] ^= 1;
	if (f->tpm)
		json_object_set_new(body, "quote", quoted(f, &said));
	return phx_json_from_record(&phx_seal_record, &seal);
}

/* What came of a part of a check: errors of those that DIR/broken names. */
static json_t *checked(const struct fake *f, const struct order *o)
{
	const char *part = o->kind + strlen("check_");
	PHX_AUTO_FREE char *path = in_dir(f, "broken");
	PHX_AUTO_FREE char *broken = NULL;
	bool bad = phx_file_read(path, 4096, &broken, NULL, NULL) == 0 && strstr(broken, part);
	return json_pack("{s:s,s:s,s:b,s:s,s:I,s:i,s:i,s:b,s:s}", "part", part, "disk", o->disk,
			 "passed", !bad, "text", bad ? "errors of a fake" : "", "seconds",
			 (json_int_t)o->seconds, "errors", bad ? 3 : 0, "rate", 1000, "writes",
			 o->writes, "tool", "a fake");
}

static void send_result(struct fake *f, const char *kind, const struct order *o, int64_t result)
{
	PHX_AUTO_JSON json_t *body = json_pack(
		"{s:s,s:I,s:I,s:I,s:I,s:I,s:s}", "kind", kind, "id", (json_int_t)o->id, "run",
		(json_int_t)o->run, "epoch", (json_int_t)o->epoch, "nonce", (json_int_t)o->nonce,
		"result", (json_int_t)result, "text", result ? "it was told to fail" : "");
	if (o->kind && !strncmp(o->kind, "check_", 6) && !result)
		json_object_set_new(body, "check", checked(f, o));
	if (o->kind && !strcmp(o->kind, "wipe") && !result) {
		json_object_set_new(body, "seal", sealed(f, o, body));
		json_object_set_new(body, "wipe",
				    json_pack("{s:s,s:s,s:s,s:I,s:I,s:b,s:s,s:i,s:s}", "disk_id",
					      o->disk, "method", o->method, "used", o->method,
					      "size_bytes", (json_int_t)4 << 30, "verified_bytes",
					      (json_int_t)1 << 30, "verified", !f->unread, "detail",
					      "read back by a fake", "places", 4096, "read_sha256",
					      sum_of(f, o)));
	}
	for (;;) {
		PHX_AUTO_JSON json_t *answer = NULL;
		int r = call(f, "/v1/agent/result", body, &answer);
		/* taken, or of the past; everything else is asked again, as an agent's outbox
		 * does */
		if (r == 0 || r == -ESTALE || r == -EBUSY || r == -EEXIST || r == -EINVAL ||
		    r == -EACCES)
			return;
		nap(RETRY_MS);
	}
}

/* As an agent does in that step: makes another key, and asks for its certificate under the former
 * one; where that is dead already, since the answer was lost, by enrolling. */
static int64_t rekey(struct fake *f, const struct order *o)
{
	PHX_AUTO_FREE char *next = in_dir(f, "next.pem");
	PHX_AUTO_FREE char *key = in_dir(f, "key.pem");
	PHX_AUTO_FREE char *cert = in_dir(f, "cert.pem");
	PHX_AUTO_FREE char *pem = NULL;
	PHX_AUTO_FREE char *csr = NULL;
	struct phx_err err = {0};
	struct phx_next_key proof = {0};
	int r = phx_csr_make("fake", &pem, &csr, &err);
	r = r ? r : phx_file_write(next, pem, strlen(pem), 0600, &err);
	r = r ? r : phx_next_key_prove(csr, key, cert, &proof, &err);
	while (r == 0) {
		PHX_AUTO_JSON json_t *answer = NULL;
		PHX_AUTO_JSON json_t *body = json_pack(
			"{s:s,s:o,s:I,s:I,s:I}", "csr", csr, "next",
			phx_json_from_record(&phx_next_key_record, &proof), "id", (json_int_t)o->id,
			"epoch", (json_int_t)o->epoch, "nonce", (json_int_t)o->nonce);
		int asked = call(f, "/v1/agent/rekey", body, &answer);
		if (asked == 0 || asked == -EACCES) {
			rename(next, key);
			unlink(cert);
			return enrolled(f) ? 0 : -EACCES;
		}
		if (asked == -ESTALE || asked == -EINVAL)
			return asked;
		nap(RETRY_MS);
	}
	return r;
}

/* Is `kind` one of the words of the list? NULL: an empty one. */
static bool is_of(const char *list, const char *kind)
{
	size_t len = strlen(kind);
	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && !strncmp(at, kind, len))
			return true;
	return false;
}

static void do_step(struct fake *f, const struct order *o)
{
	char line[512];
	const char *role = phx_json_str(o->role, "name", "");
	bool leaves = false;
	if (is_of(f->fail, o->kind) && f->fail_left > 0) {
		f->fail_left--;
		send_result(f, "step", o, -EIO);
		return;
	}
	if (is_of(f->hang, o->kind)) {
		nap(RETRY_MS);
		return;
	}
	snprintf(line, sizeof(line), "STEP %lld %s %s %s", (long long)o->id, o->kind,
		 role[0] ? role : "-", o->disk[0] ? o->disk : "-");
	bool first = first_time(f, line);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(steps); i++) {
		if (strcmp(steps[i].kind, o->kind))
			continue;
		leaves = steps[i].leaves;
		if (first || leaves)
			steps[i].effect(f, o);
	}
	remember(f);
	int64_t result = strcmp(o->kind, "rekey") || f->lazy ? 0 : rekey(f, o);
	if (!leaves)
		send_result(f, "step", o, result);
}

static bool is_busy(const struct fake *f)
{
	PHX_AUTO_FREE char *path = phx_path("%s/busy", f->dir);
	return path && access(path, F_OK) == 0;
}

static void obey(struct fake *f, const json_t *j)
{
	const json_t *step = json_object_get(j, "step");
	struct order o = {.id = phx_json_int(j, "id", 0),
			  .epoch = phx_json_int(j, "epoch", 0),
			  .run = phx_json_int(j, "run", 0),
			  .nonce = phx_json_int(step, "nonce", 0),
			  .role = json_object_get(j, "role"),
			  .deploy = phx_json_str(json_object_get(j, "deploy"), "digest", ""),
			  .disk = phx_json_str(step, "disk", ""),
			  .method = phx_json_str(step, "method", ""),
			  .seconds = phx_json_int(step, "seconds", 0),
			  .writes = phx_json_bool(step, "writes", false),
			  .cmdline = phx_json_str(json_object_get(j, "deploy"), "cmdline", "")};
	const char *kind = phx_json_str(j, "kind", "");
	char line[64];
	if (!strcmp(kind, "step")) {
		/* it is an agent of before kernels of images, and is told no member that is 0 */
		o.kind = phx_json_str(step, "kind", phx_enum_name(&phx_step_kind_names, 0));
		do_step(f, &o);
		return;
	}
	if (!strcmp(kind, "prefetch"))
		return; /* it has every package already */
	if (!strcmp(kind, "inspect")) {
		PHX_AUTO_JSON json_t *answer = NULL;
		PHX_AUTO_JSON json_t *told = facts(f);
		call(f, "/v1/agent/inventory", told, &answer);
		return;
	}
	if (strcmp(kind, "kill") && is_busy(f)) {
		nap(RETRY_MS); /* it is told of again with the next beat */
		return;
	}
	int n = snprintf(line, sizeof(line), "%s %lld", strcmp(kind, "kill") ? "JOB" : "KILL",
			 (long long)o.id);
	if (o.run)
		snprintf(line + n, sizeof(line) - (size_t)n, ".%lld", (long long)o.run);
	first_time(f, line);
	send_result(f, "job", &o, strcmp(kind, "kill") ? 0 : 143);
}

static void beat(struct fake *f)
{
	size_t i;
	json_t *order;
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_JSON json_t *body =
		json_pack("{s:s,s:s,s:s,s:s,s:b,s:[],s:i}", "env", f->env, "boot_id", f->boot_id,
			  "actual_role", f->role, "actual_identity", f->identity, "healthy",
			  f->role[0] != '\0', "running", "wait_ms", WAIT_MS);
	int r = call(f, "/v1/agent/beat", body, &answer);
	if (r == -ESTALE || r == -EBUSY || r == -EEXIST || r == -EACCES)
		f->up = false; /* 409: hello first; 403: its key is of the past */
	if (r < 0) {
		nap(RETRY_MS);
		return;
	}
	json_array_foreach(json_object_get(answer, "orders"), i, order)
		obey(f, order);
}

/* ---- power ---- */

static void start_over_network(struct fake *f)
{
	const char *deploy = getenv("DEPLOY_SHA256");
	PHX_STR_SET(f->deploy, deploy ? deploy : "");
}

/* Follows DIR/power; true while the machine is on. Another word than before is another start: a
 * machine that is off for a moment need not be seen so. */
static bool has_power(struct fake *f)
{
	PHX_AUTO_FREE char *path = in_dir(f, "power");
	PHX_AUTO_FREE char *text = NULL;
	char now[16] = "on";
	if (phx_file_read(path, 64, &text, NULL, NULL) == 0)
		snprintf(now, sizeof(now), "%.*s", (int)strcspn(text, "\n"), text);
	if (!now[0] || !strcmp(f->power, now)) /* "": it is just being written */
		return strcmp(f->power, "off") != 0;
	PHX_STR_SET(f->power, now);
	remember(f);
	if (!strcmp(now, "off"))
		return false;
	lose_role(f, NULL);
	start_over_network(f);
	boot(f, "deploy");
	ask_start(f);
	return true;
}

static void usage(void)
{
	fputs("usage: fake_agent --dir DIR --server URL --ca FILE --number N [--env os|deploy] "
	      "[--image NAME --digest HEX]\n"
	      "       [--fail STEP,... --times N] [--hang STEP,...] [--unread] [--lazy] [-v]\n"
	      "       [--seal none|stale|altered|image|sum [--seal-of DISK]] [--tpm one|stale] "
	      "[--uuid TEXT]\n"
	      "DEPLOY_SHA256: the deploy image that firmware starts\n",
	      stderr);
	exit(64);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"dir", 1, NULL, 'd'},
		{"server", 1, NULL, 's'},
		{"ca", 1, NULL, 'c'},
		{"number", 1, NULL, 'n'},
		{"env", 1, NULL, 'e'},
		{"image", 1, NULL, 'i'},
		{"digest", 1, NULL, 'g'},
		{"fail", 1, NULL, 'f'},
		{"times", 1, NULL, 't'},
		{"hang", 1, NULL, 'h'},
		{"unread", 0, NULL, 'u'},
		{"lazy", 0, NULL, 'l'},
		{"seal", 1, NULL, 'a'},
		{"seal-of", 1, NULL, 'o'},
		{"tpm", 1, NULL, 'p'},
		{"uuid", 1, NULL, 'U'},
		{0},
	};
	struct fake f = {.env = "os", .power = "on", .uuid = ""};
	char mac[PHX_MAC_MAX], serial[16];
	for (int c; (c = getopt_long(argc, argv, "v", options, NULL)) != -1;) {
		switch (c) {
		case 'd':
			f.dir = optarg;
			break;
		case 's':
			f.server = optarg;
			break;
		case 'c':
			f.ca = optarg;
			break;
		case 'n':
			f.number = (uint32_t)atoi(optarg);
			break;
		case 'e':
			PHX_STR_SET(f.env, optarg);
			break;
		case 'i':
			PHX_STR_SET(f.image, optarg);
			break;
		case 'g':
			PHX_STR_SET(f.digest, optarg);
			break;
		case 'f':
			f.fail = optarg;
			break;
		case 't':
			f.fail_left = atoi(optarg);
			break;
		case 'h':
			f.hang = optarg;
			break;
		case 'u':
			f.unread = true;
			break;
		case 'l':
			f.lazy = true;
			break;
		case 'a':
			f.seal = optarg;
			break;
		case 'o':
			f.seal_of = optarg;
			break;
		case 'p':
			f.tpm = optarg;
			break;
		case 'U':
			f.uuid = optarg;
			break;
		case 'v':
			f.verbose = 1;
			break;
		default:
			usage();
		}
	}
	if (!f.dir || !f.server || !f.ca || !f.number)
		usage();
	signal(SIGPIPE, SIG_IGN);
	snprintf(mac, sizeof(mac), "02:00:00:00:00:%02x", f.number);
	snprintf(serial, sizeof(serial), "SN%u", f.number);
	f.mac = mac;
	f.serial = serial;
	if (!recall(&f)) {
		start_over_network(&f);
		boot(&f, f.env);
	}
	connect_again(&f);
	for (;;) {
		if (!has_power(&f) || !enrolled(&f))
			nap(RETRY_MS);
		else if (!f.up)
			say_hello(&f);
		else
			beat(&f);
	}
}
