/* Orders as the agent gets them, the tasks, accounts and images that they bring, and what it
 * answers of tasks: names are no paths, digests are digests, nobody is root.
 * Parsers: lib/agent/order.c lib/types/task.c lib/types/account.c lib/types/disk_select.c */
#include "agent/account_files.h"
#include "agent/order.h"
#include "fuzz/fuzz.h"

static void take_protect(const json_t *j)
{
	struct phx_protect p;
	struct phx_err err = {0};
	char why[PHX_PROTECTED_WHY_MAX];
	const struct phx_disk_facts d = {.id = "wwn-0x5",
					 .serial = "S1",
					 .model = "a b",
					 .transport = "fc",
					 .remote = true,
					 .path = "pci-0000:04:00.0-fc-0x5-lun-1 pci-0000:05:00.0",
					 .size_bytes = 1ULL << 40};
	if (order_protect(j, &p, &err) < 0) {
		fuzz_never(!err.text[0]);
		return;
	}
	fuzz_never(phx_protect_check(&p, NULL) < 0);
	if (phx_disk_protected(&p, &d, why))
		fuzz_never(!why[0] || (!p.remote && !p.selectors[0]));
	p.remote = false;
	if (phx_disk_protected(&p, &d, why))
		fuzz_never(!p.selectors[0]);
}

static void take_image(const json_t *j, const char *member)
{
	struct phx_image image;
	struct phx_err err = {0};
	if (order_image(j, member, &image, &err) < 0) {
		fuzz_never(!err.text[0]);
		return;
	}
	fuzz_never(!phx_name_valid(image.name) || !phx_name_valid(image.version));
	PHX_LIST_EACH(struct phx_image_file, f, &image.files)
		fuzz_never(!phx_name_valid(f->name) || strlen(f->sha256) != 64);
	phx_record_fini(&phx_image_record, &image);
}

/* On a node that wants images to be signed none is believed: nobody here has a key. On another one
 * all are that can be read. */
static void believe_image(const json_t *j, const char *member)
{
	static struct agent_config wants, wants_none;
	struct phx_image image;
	struct phx_err err = {0};
	PHX_STR_SET(wants.images_signed, fuzz_file("images_signed", "", 0));
	PHX_STR_SET(wants.package_keys, fuzz_file("keys", "none\n", 5));
	PHX_STR_SET(wants_none.images_signed, "/nowhere/images_signed");
	fuzz_never(order_image_believed(&wants, j, member, &image, &err) == 0 || !err.text[0]);
	int r = order_image(j, member, &image, NULL);
	if (r == 0)
		phx_record_fini(&phx_image_record, &image);
	fuzz_never(order_image_believed(&wants_none, j, member, &image, NULL) != r);
	if (r == 0)
		phx_record_fini(&phx_image_record, &image);
}

/* Nothing runs as root, and no path leads out of the data directory. */
static void take_tasks(const json_t *j)
{
	struct phx_task_order o;
	struct phx_err err = {0};
	if (order_tasks(j, &o, &err) < 0) {
		fuzz_never(!err.text[0] || o.tasks.n);
		return;
	}
	fuzz_never(o.tasks.n > PHX_TASKS_MAX || (o.tasks.n && (!o.uid || !o.gid)));
	PHX_LIST_EACH(struct phx_task, t, &o.tasks) {
		if (phx_task_check(t, NULL) < 0)
			continue; /* is never begun */
		fuzz_never(!t->argv.n || t->dir[0] == '/' || strstr(t->dir, "/../"));
		for (uint32_t i = 0; i < t->outputs.n; i++)
			fuzz_never(phx_text_at(&t->outputs, i)[0] == '/' ||
				   phx_str_starts(phx_text_at(&t->outputs, i), "../"));
	}
	phx_record_fini(&phx_task_order_record, &o);
}

/* Nobody is the system, and no account is more than a line; what the image has stays as it is. */
static void take_accounts(const json_t *j)
{
	static const char image[] = "root:x:0:0::/:/bin/sh\nbuild:x:1000:1000::/:/bin/sh";
	const struct account_files is = {(char *)(uintptr_t)image, (char *)(uintptr_t)image,
					 (char *)(uintptr_t)image};
	struct account_files to = {0};
	struct phx_accounts l;
	struct phx_err err = {0};
	if (order_accounts(j, &l, &err) < 0) {
		fuzz_never(!err.text[0] || l.list.n);
		return;
	}
	PHX_LIST_EACH(struct phx_account, a, &l.list)
		fuzz_never(a->uid < 1000 || !a->name[0] || strpbrk(a->name, ":\n/") ||
			   strpbrk(a->home, ":\n") || strpbrk(a->gecos, ":\n"));
	fuzz_never(l.list.n && phx_accounts_id(&l) <= PHX_ACCOUNTS_UNKNOWN);
	if (account_files_merge(&is, ACCOUNT_BLOCK_MEMBERS, &l, &to, &err) == 0)
		fuzz_never(strncmp(to.passwd, image, sizeof(image) - 1) != 0);
	else
		fuzz_never(!err.text[0]);
	account_files_fini(&to);
	phx_record_fini(&phx_accounts_record, &l);
}

/* What a node says of tasks: only what ended well has outputs, and no time runs backward. */
static void take_results(const json_t *j)
{
	struct phx_task_results r = {0};
	struct phx_err err = {0};
	int why = phx_json_to_record(&phx_task_results_record, j, &r, NULL);
	if (why == 0 && phx_task_results_check(&r, &err) < 0)
		fuzz_never(!err.text[0]);
	else if (why == 0)
		PHX_LIST_EACH(struct phx_task_result, w, &r.rows)
			fuzz_never(w->status > 255 || w->end_ms < w->begin_ms ||
				   (w->outputs_sha256[0] &&
				    (w->outcome != PHX_TASK_EXITED || w->status)));
	phx_record_fini(&phx_task_results_record, &r);
}

/* What a node is asked of what a task printed, and what it answers: no more than a piece, and
 * bytes. */
static void take_output(const json_t *j)
{
	struct phx_task_ask ask;
	struct phx_task_output o = {0};
	struct phx_err err = {0};
	if (order_output(j, &ask, &err) < 0)
		fuzz_never(!err.text[0]);
	phx_err_clear(&err);
	int r = phx_json_to_record(&phx_task_output_record, j, &o, NULL);
	if (r == 0 && phx_task_output_check(&o, &err) < 0)
		fuzz_never(!err.text[0]);
	else if (r == 0 && o.hex)
		fuzz_never(strlen(o.hex) > 2 * PHX_TASK_PIECE_MAX || strlen(o.hex) % 2);
	phx_record_fini(&phx_task_output_record, &o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_order o = {0};
	struct phx_err err = {0};
	if (phx_json_parse(text, strlen(text), &j, NULL) < 0)
		return 0;
	if (order_parse(j, &o, &err) < 0)
		fuzz_never(!err.text[0]);
	phx_record_fini(&phx_order_record, &o);
	take_protect(j);
	take_image(j, "image");
	take_image(j, "deploy");
	believe_image(j, "image");
	take_tasks(j);
	take_accounts(j);
	take_results(j);
	take_output(j);
	return 0;
}
