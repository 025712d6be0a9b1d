// Who is signed in, and how one came to be signed out. The word of a link stands behind the #: it is taken out of the address at once.
import { ApiError, get, post, reachable, useToken, whenSignedOut } from './api.js';
import { Subject } from './subject.js';

// phase: asking, out, offered (a link is there), in
export const session = new Subject({ phase: 'asking' });
let startedMs = 0;
// Has the head other pages than this one, which was loaded before?
export const outdated = new Subject(false);
const ours = document.querySelector('script[type=module]').src.split('/').at(-1);

function takeWord() {
	const found = /^#link=([0-9a-f]{64})$/.exec(location.hash);
	if (found)
		history.replaceState(null, '', location.pathname);
	return found?.[1];
}

async function enter(s) {
	useToken(s.token);
	const who = await get('/v1/whoami');
	session.set({ phase: 'in', who, byCertificate: !s.token });
}

// Why: by what the head says of itself; a start anew has forgotten everybody. Of several that ask at once, the first one knows.
function whyOut(s) {
	if (session.value.phase !== 'in')
		return session.value.why ?? '';
	return startedMs && s.started_ms !== startedMs ? 'restarted' : 'ended';
}

export async function look() {
	try {
		const s = await get('/v1/session', { watch: true });
		outdated.set(s.pages.length > 0 && !s.pages.includes(ours));
		const why = whyOut(s);
		startedMs = s.started_ms;
		if (s.signed_in)
			await enter(s);
		else
			session.set({ phase: 'out', why, passwords: s.passwords });
	} catch (error) {
		session.set({ phase: 'out', why: 'unreachable', error: error.message });
	}
}

// Who is signed in already shows the token of that session, which the link's takes the place of.
async function offer(word) {
	try {
		useToken((await get('/v1/session', { watch: true })).token);
		const { identity } = await post('/v1/session', { word, look: true });
		session.set({ phase: 'offered', identity, word });
	} catch (error) {
		session.set({ phase: 'out', why: error instanceof ApiError ? 'refused' : 'unreachable', error: error.message });
	}
}

export async function signIn(word) {
	try {
		await post('/v1/session', { word });
		await look();
	} catch (error) {
		session.set({ phase: 'out', why: 'refused', error: error.message });
	}
}

// The error, or undefined: it is done.
export async function signInWith(words) {
	try {
		await post('/v1/session', words);
	} catch (error) {
		return error;
	}
	return look();
}

export async function signOut() {
	await post('/v1/session/end').catch(() => {});
	await look();
	session.set({ ...session.value, why: 'left' });
}

// How far a right goes for who is signed in: '-', 'own' or 'all'.
export const scope = (right) => session.value.who?.rights?.[right] ?? '-';
export const may = (right) => scope(right) !== '-';

export async function begin() {
	whenSignedOut(() => session.value.phase === 'in' && look());
	// it was away: another head may be there, with other pages. One that was started anew knows no session, and says so to the next request
	reachable.watch((there) => there && session.value.phase === 'in' && session.value.byCertificate && look());
	const come = () => {
		const word = takeWord();
		if (word)
			offer(word);
		return Boolean(word);
	};
	addEventListener('hashchange', come); // a link that is opened in this very page
	if (!come())
		await look();
}
