// The runtime environments that carry out workflows, of which who is signed in is a member; null until they are read.
import { useEffect, useState } from 'preact/hooks';
import { get } from './api.js';
import { html } from './html.js';

export function useFlowRes() {
	const [res, setRes] = useState(null);
	useEffect(() => {
		get('/v1/res', { watch: true }).then((a) => setRes(a.res.filter((r) => (r.type ?? r.agreement?.type) === 'many_tasks')), () => setRes([]));
	}, []);
	return res;
}

export function ChooseRe({ res }) {
	return html`<label>Runtime environment <select name="re" required>${(res ?? []).map((r) => html`<option key=${r.name} value=${r.name}>${r.name}</option>`)}</select></label>`;
}

export function NoRe({ res }) {
	return res && !res.length && html`<p class="notice">There is no RE for workflows (type many_tasks) of which you are a member.</p>`;
}
