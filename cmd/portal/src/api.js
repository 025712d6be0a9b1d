// Asks the head, with the rights of who is signed in. The token goes with whatever changes something: no page of another origin can read it.
import { Subject } from './subject.js';

let token = '';
// Is the head there? A page says so while it is not.
export const reachable = new Subject(true);
// Called when the head says that nobody is signed in.
let onSignedOut = () => {};

export class ApiError extends Error {
	constructor(status, code, text, retryAfterMs) {
		super(text);
		this.status = status;
		this.code = code;
		this.retryAfterMs = retryAfterMs;
	}
}

export function useToken(value) {
	token = value;
}

export function whenSignedOut(tell) {
	onSignedOut = tell;
}

// file: bytes, in place of a body
async function ask(method, path, { body, file, signal, watch }) {
	const headers = {};
	if (method !== 'GET')
		headers['Phoenix-Token'] = token;
	const ready = typeof body === 'string'; // a text goes as it is
	if (body !== undefined)
		headers['Content-Type'] = ready ? 'application/octet-stream' : 'application/json';
	if (watch) // it is not the person who asks
		headers['Phoenix-Watch'] = 'yes';
	try {
		const answer = await fetch(path, { method, headers, signal, cache: 'no-store', body: file ?? (body === undefined || ready ? body : JSON.stringify(body)) });
		if (!reachable.value)
			reachable.set(true);
		return answer;
	} catch (error) {
		if (error.name !== 'AbortError')
			reachable.set(false);
		throw error.name === 'AbortError' ? error : new ApiError(0, 'ECONNREFUSED', 'The head does not answer.');
	}
}

async function fail(answer) {
	const said = await answer.json().catch(() => ({}));
	if (answer.status === 401)
		onSignedOut();
	throw new ApiError(answer.status, said.code ?? '', said.error ?? answer.statusText, 1000 * Number(answer.headers.get('Retry-After') ?? 0));
}

export async function call(method, path, options = {}) {
	const answer = await ask(method, path, options);
	if (!answer.ok)
		await fail(answer);
	return answer.json();
}

export async function text(path, options = {}) {
	const answer = await ask(options.method ?? 'GET', path, options);
	if (!answer.ok)
		await fail(answer);
	return answer.text();
}

// An answer that does not end: what the head tells as it happens, as { event, data }. It is opened when this returns.
export async function events(path, options = {}) {
	const answer = await ask('GET', path, { ...options, watch: true });
	if (!answer.ok)
		await fail(answer);
	return read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
}

async function* read(reader) {
	let rest = '';
	for (;;) {
		const { value, done } = await reader.read();
		if (done)
			return;
		const parts = (rest + value).split('\n\n');
		rest = parts.pop();
		for (const part of parts) {
			const lines = part.split('\n');
			const find = (name) => lines.find((l) => l.startsWith(`${name}: `))?.slice(name.length + 2);
			if (find('data'))
				yield { event: find('event') ?? 'message', data: find('data') };
		}
	}
}

export const get = (path, options) => call('GET', path, options);
export const upload = (path, file, options) => call('PUT', path, { ...options, file });
export const remove = (path, options) => call('DELETE', path, options);
export const post = (path, body, options) => call('POST', path, { ...options, body: body ?? {} });
