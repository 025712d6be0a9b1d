/* Daemon configuration: phoenix.conf and conf.d/NAME.conf (libconfig), parsed one by one and
 * merged; later files win key by key. One table says what there is. Reads files, keeps nothing. */
#ifndef PHX_CONFIG_CONFIG_H
#define PHX_CONFIG_CONFIG_H

#include "base/key.h"
#include "config/webhook.h"
#include "state/event.h"

#define PHX_CONFIG_PATH "/etc/phoenix/phoenix.conf"
#define PHX_CONFIG_TEXT_MAX 256

/** dhcp_mode: "dhcp", "proxy", "none". */
enum phx_dhcp_mode { PHX_DHCP_SERVE, PHX_DHCP_PROXY, PHX_DHCP_NONE };
extern const struct phx_enum phx_dhcp_mode_names;

/** tftp: "in.tftpd", "dnsmasq", "none". */
enum phx_tftp_mode { PHX_TFTP_INTFTPD, PHX_TFTP_DNSMASQ, PHX_TFTP_NONE };
extern const struct phx_enum phx_tftp_mode_names;

/* What one identity may take, beside others: a user of the socket, the certificates of one name, a
 * node, an address without a certificate. More is answered with 429, what it was, and when to come
 * again (Retry-After); administrators have none of these limits. */
#define PHX_QUOTA_FIELDS(F, S) \
	F(S, requests_per_s, U32, \
	  KEY(requests_per_s, NUMBER(0, 1000000), "200", \
	      "HTTP requests a second of one identity: a user of the socket who is no " \
	      "administrator, the certificates of one name, a node, an address without a " \
	      "certificate; what 20 s allow may come at once. More are answered with 429 and " \
	      "when to come again, as is what is over the limits below. Beats of agents are not " \
	      "counted. 0: no limit.")) \
	F(S, connections_per_user, U32, \
	  KEY(connections_per_user, NUMBER(8, 65536), "64", \
	      "HTTP connections of one identity at once, of connections_max.")) \
	F(S, connections_per_address, U32, \
	  KEY(connections_per_address, NUMBER(8, 65536), "256", \
	      "The same of one address over the network, without a certificate: nobody takes " \
	      "them all.")) \
	F(S, polls_per_user, U32, \
	  KEY(polls_per_user, NUMBER(1, 1024), "16", \
	      "Requests of one identity that wait: for events, for an end, for what a service " \
	      "writes.")) \
	F(S, reads_per_user, U32, \
	  KEY(reads_per_user, NUMBER(1, 1024), "8", \
	      "Requests of one identity under way that read much: lists, status, history.")) \
	F(S, upload_mb_per_user, U32, \
	  KEY(upload_mb_per_user, NUMBER(1, 1048576, "MiB"), "4096", \
	      "Files of one identity on their way to phxd at once, by the lengths that they " \
	      "tell; no less than the largest file that may come. Who shows no certificate " \
	      "sends none.")) \
	F(S, jobs_per_user, U32, \
	  KEY(jobs_per_user, NUMBER(1, 10000), "4000", \
	      "Jobs of one user queued or running at once, of 10000 in all; the last 1000 are " \
	      "for users with less than 100.")) \
	F(S, job_mb_per_user, U32, \
	  KEY(job_mb_per_user, NUMBER(1, 4096, "MiB"), "64", \
	      "What the words, scripts and environments of these jobs may take.")) \
	F(S, triggers_per_user, U32, \
	  KEY(triggers_per_user, NUMBER(1, 1000), "100", "Triggers of one user, of 1000 in all.")) \
	F(S, journal_mb_per_user, U32, \
	  KEY(journal_mb_per_user, NUMBER(1, 4096, "MiB"), "32", \
	      "What one identity may have journalled at once; in 17 minutes all of it is " \
	      "forgotten."))

/** One row an option of phoenix.conf; reader, defaults, origins and manual come from them. Defaults
 * may begin with {config_dir} (where phoenix.conf is), {state_dir} or {run_dir}. */
#define PHX_CONFIG_FIELDS(F, S) \
	F(S, state_dir, STR(256), \
	  KEY(state_dir, PLACE(1, 200), "/var/lib/phoenix", \
	      "What must survive: journal, keys, images, packages.")) \
	F(S, run_dir, STR(256), \
	  KEY(run_dir, PLACE(1, 200), "/run/phoenix", \
	      "What may vanish at a reboot: socket, files of the child programs.")) \
	F(S, journal, STR(256), \
	  KEY(journal, PLACE(1, 255), "{state_dir}/journal.db", "The journal (SQLite).")) \
	F(S, pki_dir, STR(256), \
	  KEY(pki_dir, PLACE(1, 255), "{state_dir}/pki", \
	      "Certificates and keys of the site; mode 0700.")) \
	F(S, key_dir, STR(256), \
	  KEY(key_dir, PLACE(1, 255), "{state_dir}/keys", \
	      "Disk keys, outside the journal; only a sealed phx backup may hold them.")) \
	F(S, image_dir, STR(256), \
	  KEY(image_dir, PLACE(1, 255), "{state_dir}/images", "Images, as NAME/VERSION/.")) \
	F(S, bmc_dir, STR(256), \
	  KEY(bmc_dir, PLACE(1, 255), "/etc/phoenix/bmc", \
	      "Password files and scripts of BMCs, root's and of mode 0600 or, scripts, 0755. " \
	      "Administrators who are not root name files of it and no others.")) \
	F(S, package_dir, STR(256), \
	  KEY(package_dir, PLACE(1, 255), "{state_dir}/packages", "Signed packages.")) \
	F(S, package_key_dir, STR(256), \
	  KEY(package_key_dir, PLACE(1, 255), "{state_dir}/package-keys", \
	      "Public keys that packages are signed with, as NAME.pub: phx package key. Root's " \
	      "alone. Where there is no such directory (a site from before there were package " \
	      "keys) it is the site's own key.")) \
	F(S, images_signed, BOOL, \
	  KEY(images_signed, YES, "false", \
	      "An image that is not signed by a key of package_key_dir is refused, by phxd and " \
	      "by " \
	      "the agents that it deploys. One whose signature is wrong always is.")) \
	F(S, output_dir, STR(256), \
	  KEY(output_dir, PLACE(1, 255), "{state_dir}/output", "Output of jobs.")) \
	F(S, re_dir, STR(256), \
	  KEY(re_dir, PLACE(1, 255), "{state_dir}/re", \
	      "Data of runtime environments, one directory each; kept until the RE is " \
	      "destroyed.")) \
	F(S, role_dir, STR(256), \
	  KEY(role_dir, PLACE(1, 255), "{config_dir}/roles", "Roles, one NAME.conf each.")) \
	F(S, rules_file, STR(256), \
	  KEY(rules_file, PLACE(1, 255), "{config_dir}/roles/rules.conf", \
	      "Rules that map inventory facts to a role.")) \
	F(S, site_dir, STR(256), \
	  KEY(site_dir, PLACE(1, 255), "{config_dir}/site", \
	      "Settings of the site, users and files of nodes, for phx site: phoenix-site(5).")) \
	F(S, pxe_dir, STR(256), \
	  KEY(pxe_dir, PLACE(1, 255), "/usr/share/phoenix/pxe", "Templates of the iPXE scripts.")) \
	F(S, portal_dir, STR(256), \
	  KEY(portal_dir, PLACE(1, 255), "/usr/share/phoenix/portal", \
	      "The portal's pages, read when phxd starts; by default those of a build beside " \
	      "phxd, if it has some, else these.")) \
	F(S, portal_pam, BOOL, \
	  KEY(portal_pam, YES, "false", \
	      "Users of this head sign in to the portal with name and password, too, by PAM " \
	      "(service phoenix, /etc/pam.d/phoenix), never root. Everybody who reaches " \
	      "https_port can try passwords then, slowed down after five wrong ones; links of " \
	      "phx portal and certificates are there in any case.")) \
	F(S, socket, STR(256), \
	  KEY(socket, PLACE(1, 107), "{run_dir}/phxd.sock", \
	      "Where administrators reach phxd on this machine.")) \
	F(S, head_user, STR(256), \
	  KEY(head_user, TEXT(0, 31), "phoenix", \
	      "User of the process that serves, made by systemd-sysusers (phxd(8), " \
	      "PROCESSES); he gets the journal and the output of jobs. Where root starts " \
	      "phxd and there is no such user, phxd does not start. \"\": the process stays " \
	      "root.")) \
	F(S, vault_user, STR(256), \
	  KEY(vault_user, TEXT(0, 31), "phx-vault", \
	      "User of the process that holds the site's keys and those of disks, likewise; he " \
	      "gets pki_dir and key_dir.")) \
	F(S, hands_user, STR(256), \
	  KEY(hands_user, TEXT(0, 31), "phx-hands", \
	      "User of the process that talks to BMCs and runs scripts of BMCs and " \
	      "anchor_program, likewise.")) \
	F(S, hands_paths, LIST(phx_word), \
	  KEY(hands_paths, WORDS(16), "", \
	      "Files and directories, beside bmc_dir, that this process and its programs see, " \
	      "and " \
	      "may change where their user may: without them it sees programs and libraries " \
	      "of the system.")) \
	F(S, consoles, BOOL, \
	  KEY(consoles, YES, "false", \
	      "Whether this head has the consoles of nodes (phx node console): conserver runs, " \
	      "and " \
	      "what they print is kept.")) \
	F(S, conserver, STR(256), \
	  KEY(conserver, PLACE(1, 255), "/usr/sbin/conserver", "The program conserver.")) \
	F(S, console_port, U32, \
	  KEY(console_port, NUMBER(1024, 65535), "7782", \
	      "Where conserver listens, on 127.0.0.1 alone; only phxd knows its password.")) \
	F(S, console_log_mb, U32, \
	  KEY(console_log_mb, NUMBER(1, 1024, "MiB"), "8", \
	      "What is kept of one console, in {state_dir}/console-logs, at most.")) \
	F(S, start_patience_percent, U32, \
	  KEY(start_patience_percent, NUMBER(5, 10000, "%"), "100", \
	      "How long machines may take for each part of their start before phx node why says " \
	      "that it is overdue, in percent: 100 is 3 minutes of firmware, 1 for iPXE, 3 for " \
	      "kernel and initrd.")) \
	F(S, socket_group, STR(256), \
	  KEY(socket_group, TEXT(0, 31), "", \
	      "Members of this group are resource providers beside root.")) \
	F(S, operator_group, STR(256), \
	  KEY(operator_group, TEXT(0, 31), "", \
	      "Members of this group are operators: they order nodes and grant REs, and have no " \
	      "part in " \
	      "certificates, BMCs and the data of REs.")) \
	F(S, auditor_group, STR(256), \
	  KEY(auditor_group, TEXT(0, 31), "", \
	      "Members of this group read the journal, nodes, REs and jobs, and change nothing.")) \
	F(S, service_group, STR(256), \
	  KEY(service_group, TEXT(0, 31), "", \
	      "Members of this group are service providers on this machine, each by the name of " \
	      "its user.")) \
	F(S, server_names, LIST(phx_word), \
	  KEY(server_names, WORDS(32), "", \
	      "Names and addresses of this head, for its certificate, beside address.")) \
	F(S, interface, STR(256), \
	  KEY(interface, TEXT(0, 15), "", "Network interface of the provisioning network.")) \
	F(S, address, STR(46), \
	  KEY(address, ADDRESS, "", \
	      "IPv4 address of this head on the provisioning network. Required.")) \
	F(S, listen, STR(46), \
	  KEY(listen, ADDRESS, "", \
	      "Where phxd listens for nodes and in.tftpd for the iPXE programs: empty: at " \
	      "`address`; \"0.0.0.0\": at every address of this machine, which a head with " \
	      "cards in several networks needs (networks.conf).")) \
	F(S, prefix, U32, \
	  KEY(prefix, NUMBER(8, 30, "bits"), "24", \
	      "Length of the provisioning network's prefix.")) \
	F(S, gateway, STR(46), KEY(gateway, ADDRESS, "", "Router told to nodes; empty: none.")) \
	F(S, dns, STR(46), KEY(dns, ADDRESS, "", "Name server told to nodes; empty: none.")) \
	F(S, domain, STR(256), KEY(domain, TEXT(0, 253), "", "Domain told to nodes.")) \
	F(S, http_port, U32, \
	  KEY(http_port, NUMBER(1, 65535), "8080", \
	      "Plain HTTP on the provisioning network: boot scripts and images.")) \
	F(S, open_images, BOOL, \
	  KEY(open_images, YES, "false", \
	      "Give every image to everybody on the provisioning network, by plain HTTP: less " \
	      "work for the head where hundreds of nodes are deployed at once, but nothing in an " \
	      "image is secret then. Otherwise only the deploy image is public, and a node gets " \
	      "the others by HTTPS, when it is ordered to deploy them.")) \
	F(S, https_port, U32, \
	  KEY(https_port, NUMBER(1, 65535), "8443", "HTTPS for agents and remote command lines.")) \
	F(S, dhcp_mode, ENUM(phx_dhcp_mode), \
	  KEY(dhcp_mode, CHOICE, "dhcp", \
	      "dhcp: phxd's dnsmasq gives addresses; proxy: it only answers network boots beside " \
	      "the site's own DHCP server; none: the site's DHCP server does both.")) \
	F(S, dhcp_range, REC(phx_ip_range), \
	  KEY(dhcp_range, RANGE, "", \
	      "\"FIRST,LAST\": addresses for machines not yet known; empty: only known nodes get " \
	      "one.")) \
	F(S, dhcp_lease_s, U32, \
	  KEY(dhcp_lease_s, NUMBER(120, 604800, "s"), "3600", "How long an address is lent.")) \
	F(S, dhcp_ra, BOOL, \
	  KEY(dhcp_ra, YES, "true", \
	      "Answer iPXE's search for an IPv6 router, which it else waits 13 s for. The " \
	      "interface needs fd77::1/64. Not in proxy mode.")) \
	F(S, dnsmasq, STR(256), KEY(dnsmasq, PLACE(1, 255), "/usr/sbin/dnsmasq", "The program.")) \
	F(S, dnsmasq_user, STR(256), \
	  KEY(dnsmasq_user, TEXT(1, 31), "dnsmasq", "The user that dnsmasq becomes.")) \
	F(S, tftp, ENUM(phx_tftp_mode), \
	  KEY(tftp, CHOICE, "in.tftpd", \
	      "Who serves the iPXE programs by TFTP: in.tftpd or dnsmasq as a child of phxd, or " \
	      "none (the site's).")) \
	F(S, tftp_server, STR(46), \
	  KEY(tftp_server, ADDRESS, "", \
	      "Where nodes fetch the iPXE programs by TFTP; empty: from this head.")) \
	F(S, tftp_dir, STR(256), \
	  KEY(tftp_dir, PLACE(1, 255), "{run_dir}/tftp", "What is served by TFTP.")) \
	F(S, in_tftpd, STR(256), \
	  KEY(in_tftpd, PLACE(1, 255), "/usr/sbin/in.tftpd", "The program.")) \
	F(S, tftp_user, STR(256), \
	  KEY(tftp_user, TEXT(1, 31), "nobody", \
	      "The user that in.tftpd is, from its start; never root.")) \
	F(S, ipxe_dir, STR(256), \
	  KEY(ipxe_dir, PLACE(1, 255), "/usr/lib/ipxe", \
	      "Where the iPXE programs undionly.kpxe and snponly.efi come from.")) \
	F(S, ipxe_fast, BOOL, \
	  KEY(ipxe_fast, YES, "true", \
	      "Tell iPXE not to wait 3 s for a proxyDHCP answer. Has no effect in proxy mode.")) \
	F(S, deploy_image, STR(PHX_NAME_MAX), \
	  KEY(deploy_image, NAME, "deploy", "The image every node boots over the network.")) \
	F(S, deploy_allow_older, LIST(phx_word), \
	  KEY(deploy_allow_older, WORDS(32), "", \
	      "Deploy images, as \"NAME-VERSION\", that may be used although one of that name " \
	      "with a later version was used before. All others that are older boot no machine: " \
	      "going back is said, and never happens by itself.")) \
	F(S, kernel_args, STR(256), \
	  KEY(kernel_args, TEXT(0, 255), "console=tty0 console=ttyS0,115200 quiet", \
	      "More words for the deploy kernel's command line. Everybody on the network can " \
	      "read them.")) \
	F(S, auto_assign, BOOL, \
	  KEY(auto_assign, YES, "false", "Accepted nodes deploy themselves by the rules.")) \
	F(S, enrol_over_loopback, BOOL, \
	  KEY(enrol_over_loopback, YES, "false", \
	      "Let machines enrol from this head itself, over loopback or from one of its " \
	      "addresses: for trying Phoenix with agents as processes. Every user of the head " \
	      "can then take the place of a node that is about to be started.")) \
	F(S, heartbeat_ms, U32, \
	  KEY(heartbeat_ms, NUMBER(100, 60000, "ms"), "2000", "How often an agent reports.")) \
	F(S, missing_after_ms, U32, \
	  KEY(missing_after_ms, NUMBER(200, 600000, "ms"), "6000", \
	      "Silence after which a node counts as missing; at least twice heartbeat_ms.")) \
	F(S, restart_silent_s, U32, \
	  KEY(restart_silent_s, NUMBER(0, 604800, "s"), "0", \
	      "A node with a BMC that has been silent for so long, in service and without a " \
	      "plan, is power cycled once by phxd itself; 0: never. It brings back nodes that " \
	      "have their key in memory alone, after a power cut. It also ends what a node " \
	      "serves that is only cut off from phxd: longer than job_lease_s, and than any " \
	      "repair of the network between head and nodes takes.")) \
	F(S, soft_off_s, U32, \
	  KEY(soft_off_s, NUMBER(10, 86400, "s"), "300", \
	      "How long the system of a node may take to end after phx node power NODES off has " \
	      "asked it to. A node that is still on then is left so, and told of: only " \
	      "phx node power NODES off --hard cuts its power.")) \
	F(S, address_back_s, U32, \
	  KEY(address_back_s, NUMBER(0, 604800, "s"), "960", \
	      "After what time as a director that is heard a node is given virtual addresses of " \
	      "directors that have at least two more; 0: never, addresses then move only when " \
	      "their director is lost. The kernel forgets a connection that is silent for 900 s: " \
	      "after less, a silent one may be unknown to the director that gets its address.")) \
	F(S, metrics_nodes, U32, \
	  KEY(metrics_nodes, NUMBER(0, 100000), "20000", \
	      "How many nodes have rows of their own in one answer of /v1/metrics; 0: none has. " \
	      "Where there are more nodes, ?page=2 has the next, and so on (phx_node_pages).")) \
	F(S, metrics_keep_s, U32, \
	  KEY(metrics_keep_s, NUMBER(0, 300, "s"), "5", \
	      "For how long one rendering of metrics serves all who scrape; 0: each has his " \
	      "own.")) \
	F(S, measure_web_use, BOOL, \
	  KEY(measure_web_use, YES, "true", \
	      "Whether the use of a web RE is what its nodes measure. false: only what POST " \
	      "/v1/res/NAME/use says counts, for sites whose own monitoring knows better.")) \
	F(S, balance_after_ms, U32, \
	  KEY(balance_after_ms, NUMBER(200, 600000, "ms"), "3500", \
	      "Silence after which a node of a web service is taken out of the balancers, and " \
	      "clients connected to it are told so; often before it counts as missing. At half " \
	      "of it (never sooner than half a second more than heartbeat_ms) the node gets no " \
	      "new connections, and those it has go on; between the two lies a second at least, " \
	      "so that with a long heartbeat_ms both come later than this says. Who is the only " \
	      "one left stays.")) \
	F(S, job_heartbeat_timeout_s, U32, \
	  KEY(job_lease_s, NUMBER(10, 86400, "s"), "60", \
	      "The heartbeat timeout of jobs: an agent that cannot reach phxd for so long ends " \
	      "its jobs. A job of a silent node is queued again after that, not before.")) \
	F(S, job_output_max_mb, U32, \
	  KEY(job_output_max_mb, NUMBER(1, 60, "MiB"), "60", \
	      "What is kept of what a job writes on a node; the rest is lost, and told as lost. " \
	      "For jobs that start from then on.")) \
	F(S, stage_max_mb, U32, \
	  KEY(stage_max_mb, NUMBER(1, 16384, "MiB"), "1024", \
	      "Largest file that is carried to a job or back from one (stage-in, stage-out), or " \
	      "put into the data directory of an RE.")) \
	F(S, data_max_mb, U32, \
	  KEY(data_max_mb, NUMBER(0, 1073741824, "MiB"), "0", \
	      "So much the data directory of an RE may hold whose agreement has no data_max_mb, " \
	      "directories of its users included: a file that is beyond it is refused, and a job " \
	      "that brings one back fails with that reason; 0: as much as there is. What " \
	      "somebody with a login on the head writes there himself is counted, and not " \
	      "stopped (phxd(8), LIMITS).")) \
	F(S, data_reserve_mb, U32, \
	  KEY(data_reserve_mb, NUMBER(0, 16777216, "MiB"), "512", \
	      "So much of the file system of re_dir, and of the one on which files that come are " \
	      "kept until they are whole (output_dir), stays free of such files.")) \
	F(S, slurm_dir, STR(256), \
	  KEY(slurm_dir, PLACE(1, 255), "{config_dir}/slurm", \
	      "Where the resource provider puts the slurm.conf of each Slurm that runs the jobs " \
	      "of an RE, as NAME.conf; only root may be able to change it, and what is above " \
	      "it.")) \
	F(S, engine_user, STR(256), \
	  KEY(engine_user, TEXT(1, 31), "phx-engine", \
	      "The user that Slurm's commands run as; never root. Its Slurm must let it manage " \
	      "nodes and jobs (phoenix-agreement(5), SLURM).")) \
	F(S, slurm_paths, LIST(phx_word), \
	  KEY(slurm_paths, WORDS(16), "", \
	      "Files and directories that Slurm's commands see, and may change where engine_user " \
	      "may: without them they see programs and configuration of the system (/usr, /opt, " \
	      "/etc, /run), directories of programs (PATH) and slurm_dir. A Slurm that is " \
	      "elsewhere, or whose slurm.conf is a link or names files elsewhere, needs these.")) \
	F(S, repairs_max, U32, \
	  KEY(repairs_max, NUMBER(0, 100), "3", \
	      "How often one plan may bring a node back to where its step needs it.")) \
	F(S, power_threads, U32, \
	  KEY(power_threads, NUMBER(1, 256), "16", "Power operations at once, over all BMCs.")) \
	F(S, power_timeout_ms, U32, \
	  KEY(power_timeout_ms, NUMBER(1000, 600000, "ms"), "60000", \
	      "How long a power state may take to be observed.")) \
	F(S, power_off_quarantined, BOOL, \
	  KEY(power_off_quarantined, YES, "false", "Switch a node off when it is quarantined.")) \
	F(S, protected_disks, LIST(phx_word), \
	  KEY(protected_disks, WORDS(16), "", \
	      "Disks that are never written and never erased, of whichever node: each word is a " \
	      "selector (DISKS below), and a disk is protected that meets one of them. What is " \
	      "on " \
	      "them is seen by each owner of the node in turn; attestations name them.")) \
	F(S, protect_remote_disks, BOOL, \
	  KEY(protect_remote_disks, YES, "true", \
	      "Whether the same holds for all disks that a node reaches over a storage network " \
	      "(Fibre Channel, iSCSI, SRP, RBD, NVMe over fabrics). false: a wipe erases every " \
	      "LUN " \
	      "that the node can reach, and an image may be written to one, though other " \
	      "machines " \
	      "may be using them at that moment.")) \
	F(S, attestation_days, U32, \
	  KEY(attestation_days, NUMBER(1, 36500, "days"), "365", \
	      "How long the attestation of a hand-over with erases counts: phx erasure verify " \
	      "says of an older one that it does not.")) \
	F(S, person_cert_days_max, U32, \
	  KEY(person_cert_days_max, NUMBER(1, 3650, "days"), "365", \
	      "How long the certificate of a person is good at most: phx cert issue refuses " \
	      "more. Those that were issued before stay as they are.")) \
	F(S, journal_keep_days, U32, \
	  KEY(journal_keep_days, NUMBER(0, 36500, "days"), "0", \
	      "Events older than this are forgotten after a snapshot; 0: all are kept. Erase " \
	      "records are kept in any case.")) \
	F(S, starts_max_mb, U32, \
	  KEY(starts_max_mb, NUMBER(1, 65536, "MiB"), "256", \
	      "How large {state_dir}/starts.db may become, what was seen of the starts of nodes " \
	      "(phx node why): the oldest starts go first.")) \
	F(S, vault_log_keep, U32, \
	  KEY(vault_log_keep, NUMBER(0, 100000, "files"), "0", \
	      "How many files of the vault's log are kept beside the present one, of 64 MiB " \
	      "each; " \
	      "0: all. The oldest goes when one more is turned, and the log says so.")) \
	F(S, anchor_file, LIST(phx_word), \
	  KEY(anchor_file, WORDS(8), "", \
	      "Files (best on other machines) to which phxd appends its anchors, a line each: " \
	      "how " \
	      "far the journal is, signed, every minute or 1000 events while there is news. With " \
	      "them phx journal verify finds out later whether somebody rewrote the journal.")) \
	F(S, anchor_program, LIST(phx_word), \
	  KEY(anchor_program, WORDS(32), "", \
	      "A program and its words that is run for each anchor, with the line as its last " \
	      "word; by hands_user, and nobody but root may be able to change it. Where it " \
	      "writes, " \
	      "hands_paths must name.")) \
	F(S, anchor_syslog, BOOL, \
	  KEY(anchor_syslog, YES, "true", \
	      "Whether anchors go to the system's log, too (authpriv.notice).")) \
	F(S, event_dir, STR(256), \
	  KEY(event_dir, PLACE(1, 255), "{config_dir}/on_event.d", \
	      "Programs that are told events: each is run with one as JSON on its standard " \
	      "input. " \
	      "They, and the directory, must belong to root, and nobody else may be able to " \
	      "change them (EVENTS below).")) \
	F(S, event_user, STR(256), \
	  KEY(event_user, TEXT(1, 31), "phx-events", \
	      "The user that these programs run as, and the process that sends to webhooks; " \
	      "never " \
	      "root.")) \
	F(S, event_paths, LIST(phx_word), \
	  KEY(event_paths, WORDS(16), "", \
	      "Files and directories that these programs see, and may change where event_user " \
	      "may: without them they see programs and configuration of the system (/usr, /opt, " \
	      "/etc, /run) and event_dir, and write nowhere.")) \
	F(S, event_keep_h, U32, \
	  KEY(event_keep_h, NUMBER(1, 87600, "h"), "72", \
	      "How long an event waits for a program or webhook that fails; then it is dropped " \
	      "for that one, and phxd says how many were.")) \
	F(S, event_tries, U32, \
	  KEY(event_tries, NUMBER(1, 1000, "times"), "10", \
	      "An event that a program or webhook refuses so many times (EVENTS says what counts " \
	      "as that), and for event_refused_s, is put aside for that one, which is told the " \
	      "next ones then. Whoever is out of reach is waited for.")) \
	F(S, event_refused_s, U32, \
	  KEY(event_refused_s, NUMBER(0, 604800, "s"), "900", \
	      "For how long it refuses an event at least before that is put aside.")) \
	F(S, snapshot_every, U32, \
	  KEY(snapshot_every, NUMBER(100, 10000000, "events"), "10000", \
	      "A snapshot of the state after so many events.")) \
	F(S, http_threads, U32, KEY(http_threads, NUMBER(1, 64), "4", "Threads that serve HTTP.")) \
	F(S, connections_max, U32, \
	  KEY(connections_max, NUMBER(64, 262144), "32768", \
	      "HTTP connections at once, on each listener; administrators have 64 more. An agent " \
	      "has one or two. phxd may open as many files as three full listeners need, if " \
	      "LimitNOFILE of its unit allows it.")) \
	PHX_QUOTA_FIELDS(F, S)

/** PHX_OPT_http_port: the place of the option among the rows. */
enum phx_option_id {
#define PHX_OPTION_ID_(S, m, ...) PHX_OPT_##m,
	PHX_CONFIG_FIELDS(PHX_OPTION_ID_, phx_config) PHX_OPT_COUNT_
};
/** The row of an option; `id` below PHX_OPT_COUNT_. */
const struct phx_field *phx_option(enum phx_option_id id);

/** Where a value comes from; line 0 = "default". */
struct phx_origin {
	char file[PHX_CONFIG_TEXT_MAX];
	uint32_t line;
};

/** All there is to configure: the options (cfg.http_port, cfg.state_dir ...), pools and webhooks
 * beside. Zero-initialise; owned lists: phx_config_fini(). */
struct phx_config {
	PHX_MEMBERS(phx_config, PHX_CONFIG_FIELDS)
	struct phx_list pools;        /* struct phx_pool */
	struct phx_list pool_origins; /* struct phx_origin, one a pool */
	struct phx_list webhooks;     /* struct phx_webhook */
	struct phx_list webhook_origins;
	char file[PHX_CONFIG_TEXT_MAX]; /* that was read; "": the defaults alone */
	struct phx_origin origins[PHX_OPT_COUNT_];
};

/** Read `path` (normally PHX_CONFIG_PATH) and DIR/conf.d/NAME.conf (DIR = that of `path`; byte
 * order of the names), check each value and how they fit together. Error text begins with
 * "FILE:LINE: " and says what would be right. -ENOENT no such file, -EINVAL, -errno. `ret`
 * (uninitialised or zeroed is fine) is untouched on failure. */
int phx_config_load(const char *path, struct phx_config *ret, struct phx_err *err);

/** What a loaded configuration names and this machine does not have: interface, groups, users,
 * programs, directories. Each becomes a text of `ret` (struct phx_text, owned by the caller),
 * beginning with its place, or with `main_file` where it is a default. 0 or -ENOMEM. */
int phx_config_check_system(const struct phx_config *cfg, const char *main_file,
			    struct phx_list *ret);

/** The defaults alone, {config_dir} being `config_dir`: what a command line uses that has no
 * file. */
int phx_config_defaults(const char *config_dir, struct phx_config *ret, struct phx_err *err);

void phx_config_fini(struct phx_config *cfg);

/** Silence after which a web node gets no new connections; it is taken out the settings'
 * balance_rest_ms later. */
uint32_t phx_config_quiet_ms(const struct phx_config *cfg);

/** Where phxd listens. */
const char *phx_config_listen(const struct phx_config *cfg);

/** May `ip` be reserved for a node: an IPv4 address of a machine, not the head's own or the
 * router's, and of the provisioning network where phxd gives the addresses (elsewhere a site's own
 * DHCP server may know other networks). -EINVAL says what would be right. */
int phx_config_check_ip(const struct phx_config *cfg, const char *ip, struct phx_err *err);

/** What the core wants to know. */
void phx_config_settings(const struct phx_config *cfg, struct phx_settings *ret);

/** One line of `phx config show`; `origin` is "FILE:LINE" or "default". */
#define PHX_CONFIG_LINE_FIELDS(F, S) \
	F(S, key, STR(80)) \
	F(S, value, STR(600)) \
	F(S, origin, STR(PHX_CONFIG_TEXT_MAX + 12))
PHX_RECORD_STRUCT(phx_config_line, PHX_CONFIG_LINE_FIELDS);

/** All keys in table order, then "pools.NAME" a pool. ret: struct phx_config_line, owned by the
 * caller. */
int phx_config_show(const struct phx_config *cfg, struct phx_list *ret_lines);

#endif
