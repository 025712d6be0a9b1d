/* One event to one webhook, by libcurl: see outlet.h. Called in the process that sends to webhooks
 * (serve.c). Never follows a redirect, uses no proxy, keeps nothing of an answer but its status. */
#include "outlet/outlet.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"

enum { ANSWER_MAX = 64 * 1024, CONNECT_MS = 10000 };

/* ---- what vouches for it ---- */

int phx_webhook_sign(const char *secret, int64_t time_s, const char *body,
		     char ret[PHX_SIGNATURE_MAX])
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	unsigned char mac[32];
	unsigned n = sizeof(mac);
	char hex[2 * sizeof(mac) + 1];
	phx_buf_addf(&text, "%lld.", (long long)time_s);
	phx_buf_add(&text, body, strlen(body));
	if (text.failed)
		return -ENOMEM;
	if (!HMAC(EVP_sha256(), secret, (int)strlen(secret), (unsigned char *)text.data, text.n,
		  mac, &n))
		return -EIO;
	phx_hex(mac, sizeof(mac), hex);
	snprintf(ret, PHX_SIGNATURE_MAX, "t=%lld,v1=%s", (long long)time_s, hex);
	return 0;
}

/* ---- where it may go ---- */

static bool v4_is_metadata(uint32_t ip)
{
	return (ip & 0xffff0000u) == 0xa9fe0000u /* 169.254.0.0/16 */ ||
		ip == 0x646464c8u /* 100.100.100.200 */;
}

static uint32_t last_of(const struct in6_addr *a)
{
	const uint8_t *b = a->s6_addr + 12;
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool v6_is_metadata(const struct in6_addr *a)
{
	static const uint8_t nat64[12] = {0, 0x64, 0xff, 0x9b}, mapped[12] = {[10] = 0xff, 0xff};
	static const uint8_t ec2[16] = {0xfd, 0, 0x0e, 0xc2, [14] = 2, 0x54};
	return IN6_IS_ADDR_LINKLOCAL(a) || !memcmp(a, ec2, sizeof(ec2)) ||
		((!memcmp(a, nat64, sizeof(nat64)) || !memcmp(a, mapped, sizeof(mapped)) ||
		  IN6_IS_ADDR_V4COMPAT(a)) &&
		 v4_is_metadata(last_of(a)));
}

bool phx_webhook_is_metadata(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return v4_is_metadata(ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr));
	return a->sa_family != AF_INET6 ||
		v6_is_metadata(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

struct post {
	const struct phx_webhook *w;
	size_t n_answer;
	bool refused, full;
};

/* Whatever its name resolved to, this is the address that is connected to. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct post *p = arg;
	(void)purpose;
	p->refused = !p->w->link_local && phx_webhook_is_metadata(&to->addr);
	return p->refused ? CURL_SOCKET_BAD
			  : socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* ---- what comes back ---- */

static size_t count(char *data, size_t size, size_t n, void *arg)
{
	struct post *p = arg;
	(void)data;
	p->n_answer += size * n;
	p->full = p->n_answer > ANSWER_MAX;
	return p->full ? 0 : size * n;
}

/* It says of this event that it does not take it; no matter how often it is sent. */
static bool is_refusal(long status)
{
	return status >= 400 && status < 500 && status != 408 && status != 425 && status != 429;
}

/* A status with more behind it than anybody reads counts all the same. */
static int judge(const struct post *p, CURL *easy, CURLcode code, const char *text,
		 struct phx_err *err)
{
	const char *name = p->w->name;
	long status = 0;
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (p->refused)
		return phx_err_set(err, -EPERM,
				   "%s: its address is a link-local one, or that of a cloud's "
				   "metadata: link_local = true allows it",
				   name);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return phx_err_set(err, -ETIMEDOUT, "%s: no whole answer within %u s", name,
				   p->w->timeout_s);
	if (code != CURLE_OK && !(p->full && status >= 200))
		return phx_err_set(err, -EIO, "%s: %s", name,
				   *text ? text : curl_easy_strerror(code));
	if (status >= 300 && status < 400)
		return phx_err_set(err, -EPROTO,
				   "%s: it answers with a redirect (status %ld), and none is "
				   "followed: its url must be the last one",
				   name, status);
	return status >= 200 && status < 300
		? 0
		: phx_err_set(err, is_refusal(status) ? -EBADMSG : -EPROTO,
			      "%s: it answers with status %ld", name, status);
}

/* ---- one attempt ---- */

static int add_header(struct curl_slist **list, const char *name, const char *value)
{
	char line[200];
	snprintf(line, sizeof(line), "%s: %s", name, value);
	struct curl_slist *longer = curl_slist_append(*list, line);
	*list = longer ? longer : *list;
	return longer ? 0 : -ENOMEM;
}

static int add_headers(struct curl_slist **list, const char *secret, uint64_t seq, const char *body)
{
	char number[24], signature[PHX_SIGNATURE_MAX];
	snprintf(number, sizeof(number), "%llu", (unsigned long long)seq);
	int r = secret[0] ? phx_webhook_sign(secret, phx_wall_ms() / 1000, body, signature) : 0;
	r = r ? r : add_header(list, "Content-Type", "application/json");
	r = r ? r : add_header(list, "X-Phoenix-Event", number);
	r = r ? r : add_header(list, "Expect", ""); /* no 100-continue */
	return r || !secret[0] ? r : add_header(list, "X-Phoenix-Signature", signature);
}

static void set_options(CURL *easy, struct post *p, struct curl_slist *headers, const char *body,
			char *text)
{
	long ms = (long)p->w->timeout_s * 1000;
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, text);
	curl_easy_setopt(easy, CURLOPT_URL, p->w->url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, ms);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, ms < CONNECT_MS ? ms : CONNECT_MS);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "phxd/" PHX_VERSION);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, p);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, count);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, p);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, p);
	if (p->w->ca_file[0]) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, p->w->ca_file);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
}

int phx_webhook_post(const struct phx_webhook *w, const char *secret, uint64_t seq,
		     const char *body, struct phx_err *err)
{
	struct post p = {.w = w};
	struct curl_slist *headers = NULL;
	char text[CURL_ERROR_SIZE] = "";
	CURL *easy = curl_easy_init();
	int r = easy ? add_headers(&headers, secret, seq, body) : -ENOMEM;
	if (r == 0) {
		set_options(easy, &p, headers, body, text);
		CURLcode code = curl_easy_perform(easy);
		r = judge(&p, easy, code, text, err);
	}
	curl_slist_free_all(headers);
	curl_easy_cleanup(easy);
	return r;
}
