// So many browsers with the page Cluster open, without the browsers: each holds the stream of what changes, over TLS, with the cookie of a session.
// usage: node portal_readers.mjs URL CA COOKIES N SECONDS; COOKIES: a file with one a line, used in turn. Says "open" on stdout when all are
// open and reads on stdin when to begin; then one line of JSON.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';

const [url, ca, cookies, n, seconds] = process.argv.slice(2);
const jar = readFileSync(cookies, 'utf8').trim().split('\n');
const seen = { open: 0, events: 0, bytes: 0, lost: 0, ended: 0, nodes: 0 };
const open = (i) => new Promise((go, refuse) => {
	const asked = request(`${url}/v1/feed`, { ca: readFileSync(ca), agent: false, headers: { Cookie: `__Host-phoenix=${jar[i % jar.length]}`, 'Sec-Fetch-Site': 'same-origin' } }, (answer) => {
		if (answer.statusCode !== 200)
			refuse(new Error(`status ${answer.statusCode}`));
		seen.open++;
		answer.setEncoding('latin1');
		answer.on('data', (text) => {
			seen.bytes += text.length;
			seen.events += text.split('data: {"seq"').length - 1;
			seen.lost += text.split('event: lost').length - 1;
			if (i === 0)
				seen.nodes += text.split('{"name":').length - 1;
		});
		answer.on('close', () => seen.ended++);
		go();
	});
	asked.on('error', refuse);
	asked.end();
});

for (let i = 0; i < Number(n); i += 10)
	await Promise.all(Array.from({ length: Math.min(10, Number(n) - i) }, (_, k) => open(i + k)));
console.log('open');
await new Promise((go) => process.stdin.once('data', go));
Object.assign(seen, { events: 0, bytes: 0, lost: 0, nodes: 0 });
await new Promise((go) => setTimeout(go, 1000 * Number(seconds)));
console.log(JSON.stringify(seen));
process.exit(0);
