// A job is submitted: a program text, the RE that runs it, how many nodes for how long. What is wrong the head says.
import { useEffect, useState } from 'preact/hooks';
import { get, post } from './api.js';
import { html } from './html.js';
import { forget, keep, kept } from './kept.js';
import { useOnce } from './once.js';

const MINUTE_S = 60;
const FIRST = '#!/bin/sh\n';

function useRes() {
	const [res, setRes] = useState([]);
	useEffect(() => {
		get('/v1/res', { watch: true }).then((a) => setRes(a.res.map((r) => r.name)), () => {});
	}, []);
	return res;
}

function bodyOf(form) {
	const data = new FormData(form);
	const body = { argv: [data.get('name') || 'job'], script: data.get('script'), nodes: Number(data.get('nodes')), time_s: Number(data.get('minutes')) * MINUTE_S };
	if (data.get('re'))
		body.re = data.get('re');
	if (data.get('hold'))
		body.hold = true;
	return body;
}

export function JobForm({ onDone, onLeave }) {
	const res = useRes();
	const [said, setSaid] = useState('');
	const [busy, once] = useOnce();
	const [typed] = useState(() => kept('job'));
	const submit = (e) => {
		e.preventDefault();
		const body = bodyOf(e.target);
		once(() => post('/v1/jobs', body).then((a) => { forget('job'); onDone(a.id); }, (error) => setSaid(error.message)));
	};
	const leave = () => { forget('job'); onLeave(); };
	return html`<form class="sheet" onSubmit=${submit} onInput=${(e) => keep('job', e.currentTarget)} aria-label="Submit a job"><h2>Submit a job</h2>
		<div class="fields"><label>Name <input name="name" maxlength="60" placeholder="job" defaultValue=${typed.name ?? ''} /></label>
			<label>Runtime environment <select name="re"><option value="">none</option>${res.map((r) => html`<option key=${r} value=${r} selected=${r === typed.re}>${r}</option>`)}</select></label>
			<label>Nodes <input name="nodes" type="number" min="1" max="100000" defaultValue=${typed.nodes ?? '1'} required /></label>
			<label>Minutes at most (0: no end) <input name="minutes" type="number" min="0" max="525600" defaultValue=${typed.minutes ?? '60'} required /></label>
			<label class="check"><input name="hold" type="checkbox" defaultChecked=${Boolean(typed.hold)} /> hold it back</label></div>
		<label>Program <textarea name="script" rows="7" spellcheck=${false} required defaultValue=${typed.script ?? FIRST}></textarea></label>
		${said && html`<p class="trouble" role="alert">${said}</p>`}
		<p class="acts"><button type="button" onClick=${leave}>Leave it</button><button type="submit" class="main" disabled=${busy}>Submit</button></p></form>`;
}
