/* News for the system's log: as journald's native protocol has it, a name and a value each. Called
 * by phxd's outlets. */
#include "outlet/news.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "outlet/internal.h"

/* journald takes a value with line ends for what it is, but not everybody who shows it does. */
static int add(struct phx_list *to, const char *name, const char *value)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "%s=", name);
	outlet_put_clean(&b, value);
	struct phx_text *t = b.failed ? NULL : phx_list_push(to, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->text = phx_buf_take(&b);
	return t->text ? 0 : -ENOMEM;
}

static int add_number(struct phx_list *to, const char *name, uint64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return add(to, name, text);
}

static int add_each(struct phx_list *to, const char *name, const struct phx_list *words)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_word, w, words)
		r = r ? r : add(to, name, w->text);
	return r;
}

void phx_news_fields_fini(struct phx_list *fields)
{
	PHX_LIST_EACH(struct phx_text, t, fields)
		free(t->text);
	phx_list_fini(fields);
}

int phx_news_fields(const struct phx_news *n, struct phx_list *ret)
{
	PHX_AUTO(phx_news_fields_fini) struct phx_list list = {0};
	int r = add(&list, "MESSAGE", n->message);
	r = r ? r : add_number(&list, "PRIORITY", (uint64_t)n->priority);
	r = r ? r : add(&list, "SYSLOG_IDENTIFIER", "phxd");
	r = r ? r : add(&list, "MESSAGE_ID", phx_news_id(n->kind));
	r = r ? r : add(&list, "PHX_EVENT", phx_enum_name(&phx_event_kind_names, (int)n->kind));
	r = r ? r : add_number(&list, "PHX_SEQ", n->seq);
	r = r ? r : add_number(&list, "PHX_TIME_MS", (uint64_t)n->time_ms);
	r = r || !n->by[0] ? r : add(&list, "PHX_BY", n->by);
	r = r ? r : add_each(&list, "PHX_NODE", &n->nodes);
	r = r ? r : add_each(&list, "PHX_RE", &n->res);
	if (r == 0) {
		*ret = list;
		list = (struct phx_list){0};
	}
	return r;
}

/* A program below a service inherits the variable, whatever its standard error is: systemd.exec(5)
 */
bool phx_news_log_is_there(void)
{
	const char *is = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;
	if (!is || fstat(STDERR_FILENO, &st) < 0)
		return false;
	snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	return !strcmp(is, own);
}

int phx_news_log(const struct phx_news *n)
{
	PHX_AUTO(phx_news_fields_fini) struct phx_list fields = {0};
	struct iovec iov[PHX_NEWS_FIELDS_MAX];
	int n_iov = 0, r = phx_news_fields(n, &fields);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_text, t, &fields)
		if (n_iov < PHX_NEWS_FIELDS_MAX)
			iov[n_iov++] = (struct iovec){t->text, strlen(t->text)};
	return sd_journal_sendv(iov, n_iov);
}
