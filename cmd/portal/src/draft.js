// An agreement while it is written: values by key, or a text; what the head says to it, asked a moment after the last key. It outlives the page's
// sign-out and a reload, in this tab, for who wrote it.
import { post } from './api.js';
import { session } from './session.js';
import { Subject } from './subject.js';

const QUIET_MS = 300; // without a key, before it is checked
const AGAIN_MS = 1000; // where the head has too much to do, or is away

const place = () => `agreement of ${session.value.who?.identity ?? ''}`;

function kept() {
	try {
		return JSON.parse(sessionStorage.getItem(place())) ?? {};
	} catch {
		return {};
	}
}

export class Draft {
	// mode: 'form' or 'text'; checked: what the head said last, about `of`
	state = new Subject({ mode: 'form', values: {}, extensions: {}, text: '', checked: null, current: false });
	#create;
	#timer = 0;
	#abort = new AbortController();

	constructor(create) {
		this.#create = create;
		this.state.value = { ...this.state.value, ...kept(), checked: null, current: false };
	}

	stop() {
		clearTimeout(this.#timer);
		this.#abort.abort();
	}

	forget() {
		sessionStorage.removeItem(place());
	}

	#change(more) {
		this.state.set({ ...this.state.value, ...more, current: false });
		const { mode, values, extensions, text } = this.state.value;
		sessionStorage.setItem(place(), JSON.stringify({ mode, values, extensions, text }));
		this.soon(QUIET_MS);
	}

	put(key, value) {
		const values = { ...this.state.value.values, [key]: value };
		if (!value)
			delete values[key];
		this.#change({ values });
	}

	write(text) {
		this.#change({ text });
	}

	// The other view of the same: what was written is taken over as the head reads it.
	show(mode) {
		const { checked } = this.state.value;
		if (mode !== this.state.value.mode && checked)
			this.#change({ mode, text: checked.text, values: checked.values, extensions: checked.extensions });
	}

	soon(ms) {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.check(), ms);
	}

	async check() {
		this.#abort.abort();
		this.#abort = new AbortController();
		const { mode, values, extensions, text } = this.state.value;
		const body = mode === 'text' ? { text } : { values, extensions };
		try {
			const checked = await post('/v1/agreement-check', { ...body, create: this.#create }, { signal: this.#abort.signal });
			this.state.set({ ...this.state.value, checked, current: true, error: '' });
		} catch (error) {
			if (error.name === 'AbortError' || error.status === 401)
				return;
			this.state.set({ ...this.state.value, error: error.status && error.status !== 429 ? error.message : '' });
			if (!error.status || error.status === 429)
				this.soon(error.retryAfterMs || AGAIN_MS);
		}
	}
}
