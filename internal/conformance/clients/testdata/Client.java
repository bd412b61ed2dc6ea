import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** One request, by the method and to the address that the arguments name. */
class Client {
    public static void main(String[] args) throws Exception {
        var body = args[0].equals("GET")
            ? HttpRequest.BodyPublishers.noBody()
            : HttpRequest.BodyPublishers.ofString("news");
        var request = HttpRequest.newBuilder(URI.create(args[1])).method(args[0], body).build();
        var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode() + " " + answer.body());
        System.exit(answer.statusCode() < 300 ? 0 : 1);
    }
}
