// The head of the tests: asked as root on its socket, and started again under open pages.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const again = join(process.env.PORTAL_WORK, 'again.pid');

export const sh = (words) => execFileSync('bash', ['-c', words], { encoding: 'utf8' });
export const api = (path, ...args) => JSON.parse(execFileSync('curl', ['-sS', '--unix-socket', process.env.PHX_SOCKET, `http://unix${path}`, ...args], { encoding: 'utf8' }));
export const post = (path, body) => api(path, '-d', JSON.stringify(body));

const pid = () => (existsSync(again) ? readFileSync(again, 'utf8').trim() : process.env.HEAD_PID);

export function stopHead() {
	sh(`kill -TERM -- ${pid()}; while kill -0 ${pid()} 2>/dev/null; do sleep 0.1; done`);
}

// It is there when its socket answers.
export function startHead() {
	sh('setsid "$BUILD/bin/phxd" -c "$PHX_CONFIG" >>"$PORTAL_WORK/again.log" 2>&1 & echo $! >"$PORTAL_WORK/again.pid"');
	sh('for i in $(seq 300); do curl -sS --unix-socket "$PHX_SOCKET" http://unix/v1/status >/dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1');
}

// Waits until what the head says is so.
export async function until(what, is, ms = 30000) {
	for (const end = Date.now() + ms; !is();) {
		if (Date.now() > end)
			throw new Error(`not so in time: ${what}`);
		await new Promise((go) => setTimeout(go, 100));
	}
}

// What a page of who is signed in is answered, past its buttons.
export const status = (page, method, path, body) => page.evaluate(async ([method, path, body]) => {
	const { token } = await (await fetch('/v1/session')).json();
	return (await fetch(path, { method, headers: { 'Phoenix-Token': token }, body: body && JSON.stringify(body) })).status;
}, [method, path, body]);
