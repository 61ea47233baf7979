// Browsers allow no workers to pages that are opened as files. There the search's worker runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      this.inner = this.frame.contentWindow
      this.inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.loaded = new Promise(resolve => {
        const script = this.inner.document.createElement("script")
        script.onload = resolve
        script.src = url
        this.inner.document.body.append(script)
      })
    }
    postMessage(data) {
      this.loaded.then(() => this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data })))
    }
    terminate() {
      this.frame.remove()
    }
  }
}
