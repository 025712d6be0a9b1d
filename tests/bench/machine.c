/* See machine.h. Called by swarm.c and allocation.c; measures nothing. */
#include "bench/machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "pki/pki.h"

enum { BEAT_MS = 2000, CALL_MS = 30000 };
static const json_int_t gib = 1LL << 30;

void machine_init(struct machine *m, const char *prefix, unsigned number)
{
	*m = (struct machine){.number = number};
	snprintf(m->name, sizeof(m->name), "%.10s%u", prefix, number);
	snprintf(m->mac, sizeof(m->mac), "02:be:00:%02x:%02x:%02x", (number >> 16) & 0xff,
		 (number >> 8) & 0xff, number & 0xff);
	snprintf(m->serial, sizeof(m->serial), "BENCH-%06u", number);
	snprintf(m->uuid, sizeof(m->uuid), "62656e63-6800-4000-8000-%012u", number);
	snprintf(m->boot_id, sizeof(m->boot_id), "626f6f74-0000-4000-8000-%012u", number);
}

void machine_fini(struct machine *m)
{
	free(PHX_TAKE(m->key));
	free(PHX_TAKE(m->cert));
}

int machine_announce(const struct machine *m, struct phx_http_client *admin, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:s,s:[s],s:s}", "name", m->name, "macs", m->mac, "serial", m->serial);
	return j ? phx_http_call_json(admin, "POST", "/v1/nodes", j, CALL_MS, &answer, err)
		 : -ENOMEM;
}

int machine_enrol(struct machine *m, struct phx_http_client *head, struct phx_err *err)
{
	PHX_AUTO_FREE char *csr = NULL;
	PHX_AUTO_JSON json_t *answer = NULL;
	int r = phx_csr_make(m->name, &m->key, &csr, err);
	if (r < 0)
		return r;
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:s,s:[s],s:s,s:s,s:s,s:s}", "csr", csr, "macs", m->mac, "serial",
			  m->serial, "uuid", m->uuid, "boot_id", m->boot_id, "env", "os");
	r = j ? phx_http_call_json(head, "POST", "/v1/agent/enrol", j, CALL_MS, &answer, err)
	      : -ENOMEM;
	const char *cert = phx_json_str(answer, "cert", NULL);
	if (r == 0 && !cert)
		r = phx_err_set(err, -EPROTO, "%s: enrolment gave no certificate", m->name);
	if (r == 0 && !(m->cert = strdup(cert)))
		r = -ENOMEM;
	return r;
}

static json_t *disk_facts(const struct machine *m, const char *bus, unsigned i)
{
	char id[64], serial[32], dev[8];
	snprintf(serial, sizeof(serial), "D%05u-%u", m->number % 100000, i);
	snprintf(id, sizeof(id), "serial-BENCH-%s", serial);
	snprintf(dev, sizeof(dev), "sd%c", 'a' + i);
	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:b,s:b}", "id", id, "serial", serial, "model",
			 "BENCH", "bus", bus, "dev", dev, "size_bytes", 960 * gib, "can_discard", 1,
			 "can_ata_secure_erase", 1);
}

static json_t *facts(const struct machine *m)
{
	return json_pack("{s:s,s:i,s:i,s:i,s:s,s:I,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:[o,o],s:[{s:s,"
			 "s:s,s:s,s:b,s:i}]}",
			 "arch", "x86_64", "cpus", 64, "cores", 32, "sockets", 2, "cpu_model",
			 "A processor whose name is of the usual length @ 2.40GHz", "memory_bytes",
			 256 * gib, "vendor", "A vendor", "product", "A server of the usual kind",
			 "serial", m->serial, "uuid", m->uuid, "firmware", "2.14.1", "boot_mode",
			 "uefi", "os", "Debian GNU/Linux 12 (bookworm)", "kernel", "6.1.0-40-amd64",
			 "disks", disk_facts(m, "ata", 0), disk_facts(m, "ata", 1), "nics", "mac",
			 m->mac, "dev", "eno1", "driver", "ixgbe", "link", 1, "speed_mbps", 10000);
}

json_t *machine_hello(const struct machine *m, const char *role, const char *identity,
		      const char *image, const char *digest)
{
	json_t *j =
		json_pack("{s:s,s:s,s:o,s:s,s:s,s:b,s:s,s:s}", "boot_id", m->boot_id, "env", "os",
			  "facts", facts(m), "actual_role", role, "actual_identity", identity,
			  "healthy", 1, "system_image", image, "system_digest", digest);
	if (!j)
		machine_die("hello: out of memory");
	return j;
}

/* As phx-agent's: all members of the monitor, numbers of a machine that works. */
static json_t *monitor(const struct machine *m, unsigned tick)
{
	json_int_t t = (json_int_t)tick * 2 + m->number;
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "cpu_permille",
			 (t * 37) % 1000, "memory_total_bytes", 256 * gib, "memory_available_bytes",
			 200 * gib - t * 4096, "swap_total_bytes", 8 * gib, "swap_used_bytes",
			 (json_int_t)0, "disk_read_bytes", 40 * gib + t * 65536,
			 "disk_written_bytes", 90 * gib + t * 131072, "net_rx_bytes",
			 700 * gib + t * 1500, "net_tx_bytes", 500 * gib + t * 1500,
			 "cpu_busy_ticks", 1000000 + t * 64, "cpu_total_ticks", 9000000 + t * 12800,
			 "load1_centi", (t * 11) % 6400, "uptime_s", 1000000 + t);
}

json_t *machine_beat(const struct machine *m, const char *role, const char *identity,
		     json_t *running, unsigned tick)
{
	json_t *j = json_pack("{s:s,s:s,s:s,s:s,s:b,s:s,s:o,s:o,s:i}", "boot_id", m->boot_id, "env",
			      "os", "actual_role", role, "actual_identity", identity, "healthy", 1,
			      "health_text", "", "running", running ? running : json_array(),
			      "monitor", monitor(m, tick), "wait_ms", BEAT_MS);
	if (!j)
		machine_die("beat: out of memory");
	return j;
}

double machine_now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

void machine_die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}
